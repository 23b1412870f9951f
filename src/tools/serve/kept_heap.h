// The heap of a recording without end: its newest slices, and the sums of everything before them. It takes slices and rows out of
// the recording's profile and gives the heap of any kept stretch back, with what was live at its start as an opening slice. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "model/profile.h"
#include "tools/serve/excerpt.h"
#include "tools/serve/heap_parts.h"

namespace fathom::serve {

class KeptHeap {
 public:
  // Slices of the recording shorter than this are put together.
  explicit KeptHeap(std::uint64_t slice_ns) : slice_ns_(slice_ns) {}

  void take(model::HeapTables& heap);
  // What comes later is in slices of its own: a stretch begins or ends here.
  void end_slices();
  // Slices that end at or before this time are needed only as sums.
  void forget(std::uint64_t until_ns);

  enum class Opening : std::uint8_t {
    kLive,       // what was live at `from_ns`
    kAllocated,  // `from_ns` is the start of the recording: everything since then counts
  };
  // Slices with their middle in [from_ns, until_ns), their rows, and the heaps of processes that ran in this time. What was forgotten lies
  // before `from_ns`, or the opening is kAllocated.
  void add_to(Excerpt& excerpt, std::uint64_t from_ns, std::uint64_t until_ns, Opening opening) const;

 private:
  struct Slice {
    model::HeapSlice slice;
    HeapRows rows;
    bool ended = false;
  };
  void fold_into_sums(const Slice& slice);

  std::uint64_t slice_ns_;
  std::deque<Slice> slices_;                          // by their ends
  std::map<model::HeapId, model::HeapSlice> folded_;  // that are only sums, as one slice of each heap
  HeapRows sums_;                                     // of them
};

}  // namespace fathom::serve
