// Some rows of a recording that goes on, as a profile of their own. Of all other tables it has what these rows refer to, so its
// size follows from the rows and not from how long the recording has lasted. Pure.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "model/profile.h"

namespace fathom::serve {

class Excerpt {
 public:
  // `whole` outlives it and does not change. Meta, quality and series of the excerpt are the caller's business.
  explicit Excerpt(const model::Profile& whole) : whole_(whole) {}

  void add(const model::Sample& row);
  void add(const model::Wait& row);
  void add(const model::Fault& row);
  void add(const model::MemoryRange& row);
  model::HeapSliceId add(const model::HeapSlice& row);
  void add(const model::HeapRow& row, model::HeapSliceId slice);
  // After all slices: the end and the peak of each heap are those of its slices here, hooks and outages until `until_ns` are added.
  // Summaries are of the whole recording and are left out.
  void end_heaps(std::uint64_t until_ns);

  // The row of the excerpt for this row of the whole, added if it is not there yet.
  model::ThreadId thread(model::ThreadId id);
  model::ModuleId module(model::ModuleId id);
  model::HeapId heap(model::HeapId id);

  const model::Profile& whole() const { return whole_; }
  model::Profile& profile() { return part_; }
  model::Profile take() { return std::move(part_); }

 private:
  using Rows = std::unordered_map<std::uint32_t, std::uint32_t>;  // of the whole -> of the excerpt

  model::StringId text(model::StringId id);
  model::FunctionId function(model::FunctionId id);
  model::FrameId frame(model::FrameId id);
  model::StackId stack(model::StackId id);
  model::ProcessId process(model::ProcessId id);
  model::WaitObjectId object(model::WaitObjectId id);
  model::HeapAllocatorId allocator(model::HeapAllocatorId id);
  model::HeapSiteId site(model::HeapSiteId id);

  const model::Profile& whole_;
  model::Profile part_;
  Rows modules_, functions_, frames_, stacks_, processes_, threads_, objects_, heaps_, allocators_, sites_;
};

}  // namespace fathom::serve
