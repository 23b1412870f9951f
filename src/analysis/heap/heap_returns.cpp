#include "analysis/heap/heap_returns.h"

#include <map>
#include <tuple>

#include "analysis/heap/heap_history.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr std::size_t kPathLength = 4;

}  // namespace

std::vector<HeapReturnRow> heap_returns(const Profile& profile, const Selection& selection,
                                        const HeapSums& sums) {
  const HeapTables& heap = profile.heap;
  HeapLeaves leaves(profile, selection, true);
  struct Found {
    HeapReturnRow row;
    double heaviest = -1;
    StackId stack;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Found> rows;
  for (const HeapReturn& from : heap.returns) {
    if (!sums.takes(from.site)) continue;
    const HeapSite& site = heap.sites[from.site.value];
    std::string label = site.allocator.value == 0
                            ? "(unknown allocator)"
                            : std::string(profile.strings[heap.allocators[site.allocator.value].label]);
    std::pair<std::string, std::string> name;
    if (label == kMappedByProgram) {
      label.clear();
      name = function_that_asked(profile, leaves, site.stack);
    }
    Found& found = rows[{label, name.first, name.second}];
    found.row.allocator = label;
    std::tie(found.row.function, found.row.module) = name;
    found.row.calls += from.given_back.blocks;
    found.row.bytes += from.given_back.bytes;
    if (from.given_back.bytes > found.heaviest) {
      found.heaviest = from.given_back.bytes;
      found.stack = site.stack;
    }
  }
  std::vector<HeapReturnRow> sorted;
  for (auto& [key, found] : rows) {
    found.row.path = path_to_heap(profile, leaves, found.stack, kPathLength);
    sorted.push_back(std::move(found.row));
  }
  stable_sort_rows(sorted.begin(), sorted.end(),
                   [](const HeapReturnRow& a, const HeapReturnRow& b) { return a.bytes > b.bytes; });
  return sorted;
}

}  // namespace fathom::analysis
