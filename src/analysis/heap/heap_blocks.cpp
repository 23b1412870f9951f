#include "analysis/heap/heap_blocks.h"

#include <algorithm>
#include <tuple>

#include "analysis/core/call_tree.h"
#include "analysis/core/heap.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

using namespace model;

double seconds_from(std::uint64_t start_ns, std::uint64_t time_ns) {
  return time_ns >= start_ns ? static_cast<double>(time_ns - start_ns) * 1e-9
                             : -static_cast<double>(start_ns - time_ns) * 1e-9;
}

}  // namespace

std::vector<HeapBlockRow> heap_blocks(const Profile& profile, const Selection& selection) {
  std::vector<HeapBlockRow> rows;
  if (profile.heap.blocks.empty()) return rows;
  const HeapSums sums(profile, selection);
  HeapLeaves leaves(profile, selection, true);
  for (const HeapBlock& block : profile.heap.blocks) {
    if (!sums.takes(block.site)) continue;
    const HeapSite& site = profile.heap.sites[block.site.value];
    const Heap& heap = profile.heap.heaps[site.heap.value];
    HeapBlockRow row;
    row.address = block.address;
    row.size = block.size;
    row.allocated_s = seconds_from(profile.meta.start_ns, block.allocated_ns);
    if (block.live()) {
      row.age_s = std::max(0.0, seconds_from(block.allocated_ns, heap.end_ns));
    } else {
      row.age_s = static_cast<double>(block.lifetime_ns) * 1e-9;
      row.freed_s = row.allocated_s + row.age_s;
    }
    row.stands_for = weight_of(block).sum.blocks;
    if (site.thread != kNoThread) row.thread = thread_name(profile, site.thread);
    const HeapLeaf leaf = leaves.of(site.stack);
    if (leaf.stack.value == 0) {
      row.function = "[no stack]";
    } else {
      const FrameId frame = profile.stacks[leaf.stack.value].frame;
      row.function = frame_name(profile, frame, leaf.skip);
      row.module = profile.strings[profile.modules[profile.frames[frame.value].module.value].name];
    }
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const HeapBlockRow& a, const HeapBlockRow& b) {
    return std::tuple(b.size, a.allocated_s, a.address) < std::tuple(a.size, b.allocated_s, b.address);
  });
  return rows;
}

std::vector<HeapBlockRow> oldest_first(std::vector<HeapBlockRow> rows, std::size_t most) {
  stable_sort_rows(rows.begin(), rows.end(), [](const HeapBlockRow& a, const HeapBlockRow& b) {
    return std::tuple(a.allocated_s, b.size) < std::tuple(b.allocated_s, a.size);
  });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

}  // namespace fathom::analysis
