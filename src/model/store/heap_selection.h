// The heap tables of some of the blocks: adds up the lives of those that a filter lets through, and puts the
// sums where those of all blocks stood, in the slices that are there.
//
// Memory: a row for each pair of site and slice in which a selected block was allocated or freed, a bucket
// for each size class and lifetime class of a site, and 2 MB of times. However many blocks there are, these
// are bounded by the rows that the recording has for all of them.
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
  // `profile` has all tables of the recording, is sound, and outlives the selection.
  HeapSelection(const model::Profile& profile, const HeapBlockFilter& filter);
  ~HeapSelection();
  HeapSelection(const HeapSelection&) = delete;
  HeapSelection& operator=(const HeapSelection&) = delete;

  // Leaves only those that pass, with rows that are there, and returns what all of them stood for before
  // that. May run in several threads.
  double filter(std::vector<model::HeapBlock>& blocks) const;
  // First all of them once.
  void add(std::span<const model::HeapBlock> passed);
  // Then, if true, those of them once more that may have been live at the peak: what it was made of follows
  // from when it was.
  bool find_peak();
  // Of blocks whose slices (as HeapBlock has them) lie in this span.
  bool may_be_at_peak(std::uint32_t first_slice, std::uint32_t last_slice) const;
  void add_to_peak(std::span<const model::HeapBlock> passed);

  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t memory_bytes() const;  // as if every site had passed; never less than before
  // Replaces the tables of the heap in the profile that was given to the constructor.
  void replace(model::HeapTables& heap);

 private:
  struct Sums;
  std::uint32_t slice(model::HeapSiteId site, std::uint32_t number) const;
  std::size_t place(std::uint32_t slice, std::uint64_t time_ns) const;

  const model::Profile& profile_;
  HeapBlockFilter filter_;
  std::vector<std::vector<std::uint32_t>> slices_;  // by heap: rows of its slices
  std::vector<char> freed_by_;                      // by thread: it is the one that is asked for
  std::size_t places_;                              // times that are told apart in a slice
  std::uint64_t blocks_ = 0;
  std::unique_ptr<Sums> sums_;
};

// Tells of the sum of all rows of the heaps that have lives of blocks: what the lives should add up to.
double blocks_expected(const model::HeapTables& heap);

}  // namespace fathom::store
