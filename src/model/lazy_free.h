// Memory that a process has freed with MADV_FREE and that the kernel has not taken yet: it counts as resident and is free. Fact
// `lazy_free.PID` of docs/format.md, bytes at the last reading.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/fact_words.h"

namespace fathom::model {

inline void put_lazy_free(std::int32_t pid, std::uint64_t bytes, std::map<std::string, std::string>& facts) {
  if (bytes != 0) facts["lazy_free." + std::to_string(pid)] = std::to_string(bytes);
}

// 0: none, or it was not read.
inline std::uint64_t lazy_free_of(std::int32_t pid, const std::map<std::string, std::string>& facts) {
  const auto fact = facts.find("lazy_free." + std::to_string(pid));
  return fact == facts.end() ? 0 : number_of_fact<std::uint64_t>(fact->second).value_or(0);
}

}  // namespace fathom::model
