// Some rows of a recording that goes on, as a profile of their own. Of all other tables it has what these rows refer to, so its
// size follows from the rows and not from how long the recording has lasted. Pure.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

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

  // The id in the excerpt of a row of the whole.
  model::StringId here(model::StringId id);
  model::ModuleId here(model::ModuleId id) { return module(id); }
  model::FunctionId here(model::FunctionId id);
  model::FrameId here(model::FrameId id);
  model::StackId here(model::StackId id);
  model::ProcessId here(model::ProcessId id);
  model::ThreadId here(model::ThreadId id) { return thread(id); }
  model::WaitObjectId here(model::WaitObjectId id);
  model::HeapId here(model::HeapId id) { return heap(id); }
  model::HeapAllocatorId here(model::HeapAllocatorId id);
  model::HeapSiteId here(model::HeapSiteId id);
  // Templates of excerpt.cpp: a row with the ids of the excerpt, and the row of `table` for one of `from`.
  void take_value(auto& value);
  template <class Row>
  Row moved(Row row);
  template <class IdType, class Row>
  IdType row_here(IdType id, Rows& known, std::vector<Row>& table, const std::vector<Row>& from);

  const model::Profile& whole_;
  model::Profile part_;
  Rows modules_, functions_, frames_, stacks_, processes_, threads_, objects_, heaps_, allocators_, sites_;
};

}  // namespace fathom::serve
