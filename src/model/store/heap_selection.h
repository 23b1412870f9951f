// Heap tables of selected blocks: adds up the lifetimes of the blocks that pass a filter, and replaces the
// sums of all blocks with these, in the existing slices.
//
// Memory: a row for each pair of site and slice in which a selected block was allocated or freed, a bucket
// for each size class and lifetime class of a site, and 2 MB of times. For any number of blocks, the limit is
// the number of rows that the recording has for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "model/store/heap_filter.h"

namespace fathom::store {

class HeapSelection {
 public:
  // `profile` has all tables of the recording, has passed check(), and outlives the selection.
  HeapSelection(const model::Profile& profile, const HeapBlockFilter& filter);
  ~HeapSelection();
  HeapSelection(const HeapSelection&) = delete;
  HeapSelection& operator=(const HeapSelection&) = delete;

  // Keeps only the blocks that pass, with existing rows, and returns the sum of all blocks before filtering.
  // May run in several threads.
  double filter(std::vector<model::HeapBlock>& blocks) const;
  // First: add all blocks once.
  void add(std::span<const model::HeapBlock> passed);
  // Then, if true: add again the blocks that may have been live at the peak, because its composition is only
  // known once its time is.
  bool find_peak();
  // Whether blocks whose slices (as in HeapBlock) lie in this range may be live at the peak.
  bool may_be_at_peak(std::uint32_t first_slice, std::uint32_t last_slice) const;
  void add_to_peak(std::span<const model::HeapBlock> passed);

  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t memory_bytes() const;  // as if every site had passed; never decreases
  // Replaces the heap tables of the constructor's profile.
  void replace(model::HeapTables& heap);
  // Only the blocks that are handed out one by one.
  void give_blocks(model::HeapTables& heap) const;

 private:
  struct Sums;
  std::uint32_t slice(model::HeapSiteId site, std::uint32_t number) const;
  std::size_t place(std::uint32_t slice, std::uint64_t time_ns) const;

  const model::Profile& profile_;
  HeapBlockFilter filter_;
  std::vector<std::vector<std::uint32_t>> slices_;  // by heap: the rows of its slices
  std::vector<char> freed_by_;                      // by thread: whether the filter selects it
  std::size_t places_;                              // distinguishable times within a slice
  std::uint64_t blocks_ = 0;
  std::unique_ptr<Sums> sums_;
};

// The sum of all rows of heaps with lifetimes of blocks: the blocks should add up to it.
double blocks_expected(const model::HeapTables& heap);

}  // namespace fathom::store
