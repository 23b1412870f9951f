// Memory that a process's allocators kept free when the recording of its heap began. Fact `free_before.PID` of docs/format.md: the
// bytes that were resident, and the allocator that kept most of them. Blocks from before a recording are in none of its tables, so
// nothing else distinguishes them from free memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/parse.h"

namespace fathom::model {

struct FreeBefore {
  std::uint64_t bytes = 0;
  std::string allocator = {};  // "glibc"
  bool operator==(const FreeBefore&) const = default;
};

inline void put_free_before(std::int32_t pid, const FreeBefore& free,
                            std::map<std::string, std::string>& facts) {
  facts["free_before." + std::to_string(pid)] = std::to_string(free.bytes) + " " + free.allocator;
}

// nullopt: it was not read.
inline std::optional<FreeBefore> free_before_of(std::int32_t pid,
                                                const std::map<std::string, std::string>& facts) {
  const auto fact = facts.find("free_before." + std::to_string(pid));
  if (fact == facts.end()) return std::nullopt;
  const std::size_t space = fact->second.find(' ');
  const auto bytes = parse_number(fact->second.substr(0, space));
  if (!bytes || space == std::string::npos) return std::nullopt;
  return FreeBefore{*bytes, fact->second.substr(space + 1)};
}

}  // namespace fathom::model
