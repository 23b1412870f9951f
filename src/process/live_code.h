// Code that a program made at run time, piece by piece as it says so: of two pieces at one place the later one is true, as the
// code of the earlier was freed and its memory used again, and the earlier goes as a whole.
#pragma once

#include <map>
#include <vector>

#include "process/perf_map.h"

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
