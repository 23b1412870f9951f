// Where in a file its pages were missed: few ranges for any number of page faults, in bounded memory.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace fathom::analysis {

// Offsets in a file; `to` is behind the last one.
struct FileRange {
  std::uint64_t from = 0, to = 0;
  double faults = 0;
  bool operator==(const FileRange&) const = default;
};

// Counts in cells of one size, a page at first. With more than 64 of them in use all become twice as large:
// the smaller the touched part of the file, the more exact the result.
class FileOffsets {
 public:
  void add(std::uint64_t offset, double faults);
  // Cells side by side that were touched about as often are one range. Most faults first; none where none was counted.
  std::vector<FileRange> ranges() const;

 private:
  unsigned shift_ = 12;
  std::map<std::uint64_t, double> cells_;  // by offset >> shift_
};

}  // namespace fathom::analysis
