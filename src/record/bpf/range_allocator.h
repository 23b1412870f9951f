// First-fit allocation of index ranges in an array of fixed size. Ranges are few (one per module or process),
// so a sorted map is enough.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace fathom::sources {

class RangeAllocator {
 public:
  explicit RangeAllocator(std::uint32_t size) { free_[0] = size; }

  // nullopt: no hole is large enough. A count of 0 is given 1.
  std::optional<std::uint32_t> allocate(std::uint32_t count) {
    if (count == 0) count = 1;
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
      if (hole->second < count) continue;
      const auto [start, size] = *hole;
      free_.erase(hole);
      if (size > count) free_[start + count] = size - count;
      return start;
    }
    return std::nullopt;
  }

  // `start` and `count` as allocated.
  void release(std::uint32_t start, std::uint32_t count) {
    if (count == 0) count = 1;
    auto hole = free_.emplace(start, count).first;
    if (auto next = std::next(hole); next != free_.end() && hole->first + hole->second == next->first) {
      hole->second += next->second;
      free_.erase(next);
    }
    if (hole != free_.begin()) {
      auto previous = std::prev(hole);
      if (previous->first + previous->second == hole->first) {
        previous->second += hole->second;
        free_.erase(hole);
      }
    }
  }

  std::uint32_t largest_hole() const {
    std::uint32_t largest = 0;
    for (const auto& [start, size] : free_) largest = size > largest ? size : largest;
    return largest;
  }

 private:
  std::map<std::uint32_t, std::uint32_t> free_;  // start -> size
};

}  // namespace fathom::sources
