#include "analysis/waits/file_ranges.h"

#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

constexpr std::size_t kMostCells = 64;
constexpr double kAlike = 4;  // times as many faults in a cell as in its neighbour are another range

}  // namespace

void FileOffsets::add(std::uint64_t offset, double faults) {
  cells_[offset >> shift_] += faults;
  while (cells_.size() > kMostCells) {
    ++shift_;
    std::map<std::uint64_t, double> larger;
    for (const auto& [cell, count] : cells_) larger[cell >> 1] += count;
    cells_ = std::move(larger);
  }
}

std::vector<FileRange> FileOffsets::ranges() const {
  std::vector<FileRange> ranges;
  double before = 0;  // faults of the cell before
  for (const auto& [cell, faults] : cells_) {
    const std::uint64_t from = cell << shift_;
    // The last cell of all may end where numbers do.
    const std::uint64_t to = from + ((std::uint64_t{1} << shift_) - 1);
    const bool goes_on =
        !ranges.empty() && ranges.back().to == from && faults <= kAlike * before && before <= kAlike * faults;
    if (goes_on) {
      ranges.back().to = to == UINT64_MAX ? to : to + 1;
      ranges.back().faults += faults;
    } else {
      ranges.push_back({from, to == UINT64_MAX ? to : to + 1, faults});
    }
    before = faults;
  }
  stable_sort_rows(ranges.begin(), ranges.end(),
                   [](const FileRange& a, const FileRange& b) { return a.faults > b.faults; });
  return ranges;
}

}  // namespace fathom::analysis
