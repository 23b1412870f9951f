// The life of every single block, for recordings that keep them: a row when it ends, and one for each block
// that is live at the end. Holds only rows between two calls of take(), up to a bound: if the caller is late,
// the log drops rows and counts them, because sums must not wait for it.
//
// A block has the two slices in which its sums were booked, and not only times: an event that was stamped
// before a slice began and read after it counts in the later one, and rows must add up to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fathom::sources::heap {

struct BlockLife {
  static constexpr std::uint32_t kLive = UINT32_MAX;

  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t allocated_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t lifetime_ns = 0;   // until it was freed; 0 if it is live
  std::uint32_t site = 0;
  std::uint32_t first_slice = 0,
                last_slice = kLive;  // counted from 0, the one that is not closed yet included
  std::uint32_t freed_by = 0;        // tid; 0: it is live, or the thread is unknown
  std::uint32_t mean = 0;            // of sampling; 0: exact
  bool temporary = false;
  bool operator==(const BlockLife&) const = default;
};

class BlockLog {
 public:
  // `ticks`: the first slice begins.
  BlockLog(std::uint64_t max_rows, std::uint64_t ticks) : max_rows_(max_rows), starts_{ticks} {}

  void next_slice(std::uint64_t ticks) { starts_.push_back(ticks); }
  std::uint32_t slice() const { return static_cast<std::uint32_t>(starts_.size() - 1); }

  // Call before slice_of() searches for the block.
  void allocated(std::uint64_t block, std::uint64_t ticks) {
    if (ticks <= starts_.back())
      late_[block] = slice();
    else if (!late_.empty())
      late_.erase(block);
  }
  // In which a block was booked that was allocated at `ticks`.
  std::uint32_t slice_of(std::uint64_t block, std::uint64_t ticks) const {
    if (!late_.empty())
      if (const auto late = late_.find(block); late != late_.end()) return late->second;
    // A slice lasts up to its end and with it: what is stamped then was read before it was closed.
    if (ticks > starts_.back()) return slice();
    const auto next = std::lower_bound(starts_.begin(), starts_.end(), ticks);
    return next == starts_.begin() ? 0 : static_cast<std::uint32_t>(next - starts_.begin() - 1);
  }
  void ended(std::uint64_t block, BlockLife life) {
    if (!late_.empty()) late_.erase(block);
    if (rows_.size() >= max_rows_) {
      ++lost_;
      return;
    }
    rows_.push_back(std::move(life));
  }
  void lose() { ++lost_; }  // a block that is not followed

  std::size_t size() const { return rows_.size(); }
  std::uint64_t lost() const { return lost_; }
  std::vector<BlockLife> take() { return std::exchange(rows_, {}); }

 private:
  std::uint64_t max_rows_;
  std::vector<BlockLife> rows_;
  std::vector<std::uint64_t> starts_;  // of the slices, in ticks
  std::unordered_map<std::uint64_t, std::uint32_t>
      late_;  // live blocks whose ticks are those of an earlier slice
  std::uint64_t lost_ = 0;
};

}  // namespace fathom::sources::heap
