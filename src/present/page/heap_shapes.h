// Sizes and lifetimes of the allocations in each cell of the heap, and single blocks that are live at the
// end: what the page's heap view shows in addition to sums over time.
#pragma once

#include <cstdint>
#include <vector>

#include "model/profile.h"

namespace fathom::page {

// So many blocks of a cell were of 2^(bucket - 1) up to less than 2^bucket bytes or ns (model::HeapHistogram).
struct HeapShape {
  std::uint32_t cell = 0;  // of HeapTable
  model::HeapHistogramKind kind = model::HeapHistogramKind::kSize;
  std::uint8_t bucket = 0;
  model::HeapSum sum;
};

struct HeapBlockRow {
  std::uint32_t cell = 0;
  std::uint64_t address = 0, size = 0;
  std::uint64_t allocated_ns = 0;  // from the start of the recording
  double blocks = 1;               // so many does it stand for
};

struct HeapShapes {
  std::vector<HeapShape> shapes;  // by cell, kind and bucket
  std::vector<HeapBlockRow>
      blocks;                 // as far as the reader kept them: the largest and the oldest that are live
  bool knows_blocks = false;  // the recording has lives of blocks
};

// `cell_of_site`: by row of the profile's sites.
HeapShapes shapes_of(const model::Profile& profile, const std::vector<std::uint32_t>& cell_of_site);

}  // namespace fathom::page
