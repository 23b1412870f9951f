// What a flight recording keeps of a time that has no end. Rows that come all the time are taken out of the profile and
// kept in rings; when the file is written they are lent to it again. What leaves a ring is counted. Pure: times are
// those of the rows.
//
//   samples, waits, faults   the newest 60 s, and at most so many of each
//   points of series         60 s at 10 Hz, an hour at one every 10 s, a week at one every 10 minutes
//   looks at the mappings    the first one, and the newest
//   slices of the heap       the newest; older ones are folded into one, so that no block and no byte is missing
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/profile.h"

namespace fathom::flight {

inline constexpr std::uint64_t kSecondNs = 1'000'000'000;

struct KeepLimits {
  struct Tier {
    std::uint64_t every_ns, for_ns;
  };
  std::uint64_t rows_ns = 60 * kSecondNs;
  std::size_t most_rows = 500'000;  // of samples, of waits, of faults
  std::vector<Tier> points = {
      {0, 60 * kSecondNs}, {10 * kSecondNs, 3600 * kSecondNs}, {600 * kSecondNs, 7 * 86'400 * kSecondNs}};
  std::size_t looks = 64, look_rows = 100'000;
  std::size_t slices = 512;  // of one heap; then the older half is folded
};

struct Dropped {
  std::uint64_t samples = 0, waits = 0, faults = 0, looks = 0;
  bool operator==(const Dropped&) const = default;
};

class KeptRows {
 public:
  explicit KeptRows(KeepLimits limits = {}) : limits_(std::move(limits)) {}

  // Moves new rows since the last call out of `profile`, and clears dropped rows from its quality counts.
  // Always pass the same profile. Folds heap slices in place: nothing else may keep their numbers.
  void take(model::Profile& profile);
  // Copies all kept rows into `profile`, in time order; the caller writes it and clears it afterwards.
  void lend(model::Profile& profile) const;

  const Dropped& dropped() const { return dropped_; }

 private:
  struct Look {
    std::uint64_t time_ns = 0;
    std::vector<model::MemoryRange> rows;
  };
  struct Points {
    std::vector<std::deque<model::Point>> tiers;
  };
  void take_rows(model::Profile& profile);
  void take_looks(model::Profile& profile);
  void take_points(model::Profile& profile);
  void take_heap(model::HeapTables& heap);

  KeepLimits limits_;
  std::deque<model::Sample> samples_;
  std::deque<model::Wait> waits_;
  std::deque<model::Fault> faults_;
  std::deque<Look> looks_;
  std::size_t look_rows_ = 0;
  std::vector<Points> points_;  // by series
  std::vector<model::HeapRow> heap_rows_;
  Dropped dropped_;
};

}  // namespace fathom::flight
