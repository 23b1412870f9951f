#include "present/page/heap_shapes.h"

#include <map>
#include <tuple>

#include "base/stable_sort.h"

namespace fathom::page {

HeapShapes shapes_of(const model::Profile& profile, const std::vector<std::uint32_t>& cell_of_site) {
  HeapShapes out;
  std::map<std::tuple<std::uint32_t, model::HeapHistogramKind, std::uint8_t>, model::HeapSum> sums;
  for (const model::HeapHistogram& row : profile.heap.histograms) {
    model::HeapSum& sum = sums[{cell_of_site[row.site.value], row.kind, row.bucket}];
    sum.blocks += row.sum.blocks;
    sum.bytes += row.sum.bytes;
  }
  for (const auto& [key, sum] : sums)
    out.shapes.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), sum});
  for (const model::Heap& heap : profile.heap.heaps) out.knows_blocks |= heap.each_block;
  for (const model::HeapBlock& block : profile.heap.blocks) {
    const std::uint64_t start = profile.meta.start_ns;
    out.blocks.push_back({cell_of_site[block.site.value], block.address, block.size,
                          block.allocated_ns > start ? block.allocated_ns - start : 0,
                          model::weight_of(block).sum.blocks});
  }
  stable_sort_rows(out.blocks.begin(), out.blocks.end(),
                   [](const HeapBlockRow& a, const HeapBlockRow& b) { return a.size > b.size; });
  return out;
}

}  // namespace fathom::page
