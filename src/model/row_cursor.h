// Reads rows of a table by number, mostly ascending: the block of the last one stays unpacked.
#pragma once

#include <cstddef>
#include <vector>

#include "model/packed_rows.h"

namespace fathom::model {

template <class Row>
class RowCursor {
 public:
  // Both outlive it: the first rows of the table, which may be packed, and the others.
  RowCursor(const PackedRows<Row>& packed, const std::vector<Row>& open) : packed_(&packed), open_(&open) {}
  // Until the next call.
  const Row& at(std::size_t row) {
    if (row >= packed_->size()) return (*open_)[row - packed_->size()];
    const std::size_t block = row / kRowsOfBlock;
    if (unpacked_.empty() || block != block_) {
      unpacked_.resize(kRowsOfBlock);
      packed_->unpack(block, unpacked_.data());
      block_ = block;
    }
    return unpacked_[row % kRowsOfBlock];
  }

 private:
  const PackedRows<Row>* packed_;
  const std::vector<Row>* open_;
  std::vector<Row> unpacked_;
  std::size_t block_ = 0;
};

}  // namespace fathom::model
