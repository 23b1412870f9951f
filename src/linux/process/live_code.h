// Code that a program generated at run time, piece by piece as it reports it: if two pieces overlap, the
// later one wins, because the earlier one was freed and its memory reused; the earlier one is removed whole.
#pragma once

#include <map>
#include <vector>

#include "linux/process/perf_map.h"

namespace fathom::process {

class LiveCode {
 public:
  // `entry` has a size, and does not reach beyond the last address.
  void add(PerfMapEntry entry);
  // Code that is now elsewhere; nothing where no piece begins at `from`.
  void move(std::uint64_t from, std::uint64_t to);
  // Sorted and without overlaps.
  std::vector<PerfMapEntry> take();

 private:
  std::map<std::uint64_t, PerfMapEntry> by_start_;
};

}  // namespace fathom::process
