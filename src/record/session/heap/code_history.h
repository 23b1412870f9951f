// What code lay where over the life of a process: a plugin may be unloaded, and another one loaded at its addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace fathom::session {

class CodeHistory {
 public:
  // `code` identifies modules and their load addresses. True if other code lay anywhere in [start, end)
  // before.
  bool add(std::uint64_t start, std::uint64_t end, const void* code, std::uint64_t bias) {
    if (start >= end) return false;
    auto at = ranges_.upper_bound(start);
    if (at != ranges_.begin() && std::prev(at)->second.end > start) --at;
    bool replaced = false;
    while (at != ranges_.end() && at->first < end) {
      const auto [first, old] = *at;
      replaced = replaced || old.code != code || old.bias != bias;
      at = ranges_.erase(at);
      if (first < start) ranges_.emplace(first, Range{start, old.code, old.bias});
      if (old.end > end) ranges_.emplace(end, Range{old.end, old.code, old.bias});
    }
    // A process that goes on mapping code elsewhere would fill the memory; what is forgotten costs a stack its name.
    if (ranges_.size() >= kMostRanges) ranges_.clear();
    ranges_.emplace(start, Range{end, code, bias});
    return replaced;
  }

 private:
  static constexpr std::size_t kMostRanges = 65'536;
  struct Range {
    std::uint64_t end;
    const void* code;
    std::uint64_t bias;
  };
  std::map<std::uint64_t, Range> ranges_;  // by start; disjoint
};

}  // namespace fathom::session
