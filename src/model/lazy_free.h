// Memory that a process has freed with MADV_FREE and that the kernel has not taken yet: it counts as resident and is free. Fact
// `lazy_free.PID` of docs/format.md, bytes at the last reading.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/parse.h"

namespace fathom::model {

inline void put_lazy_free(std::int32_t pid, std::uint64_t bytes, std::map<std::string, std::string>& facts) {
  facts["lazy_free." + std::to_string(pid)] = std::to_string(bytes);
}

// nullopt: it was not read.
inline std::optional<std::uint64_t> lazy_free_of(std::int32_t pid,
                                                 const std::map<std::string, std::string>& facts) {
  const auto fact = facts.find("lazy_free." + std::to_string(pid));
  return fact == facts.end() ? std::nullopt : parse_number(fact->second);
}

}  // namespace fathom::model
