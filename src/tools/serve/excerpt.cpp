#include "tools/serve/excerpt.h"

#include <algorithm>

#include "model/fields.h"
#include "tools/serve/heap_parts.h"

namespace fathom::serve {
namespace {

template <class Table>
std::uint32_t next_row(const Table& table) {
  return static_cast<std::uint32_t>(table.size());
}

}  // namespace

model::StringId Excerpt::here(model::StringId id) {
  return part_.strings.intern(whole_.strings[id]);
}

void Excerpt::take_value(auto& value) {
  if constexpr (requires { value = here(value); }) value = here(value);
  if constexpr (requires { value.value = here(value.value); }) {  // of a field that may have no value
    if (value.value != value.none) value.value = here(value.value);
  }
}

template <class Row>
Row Excerpt::moved(Row row) {
  fields_of([this](const model::Field&, auto&& value) { this->take_value(value); }, row);
  return row;
}

template <class IdType, class Row>
IdType Excerpt::row_here(IdType id, Rows& known, std::vector<Row>& table, const std::vector<Row>& from) {
  if (const auto found = known.find(id.value); found != known.end()) return {found->second};
  const Row row = moved(from[id.value]);  // may add rows to other tables, and none to this one
  const std::uint32_t number = next_row(table);
  table.push_back(row);
  known.emplace(id.value, number);
  return {number};
}

model::ModuleId Excerpt::module(model::ModuleId id) {
  return id.value == 0 ? id : row_here(id, modules_, part_.modules, whole_.modules);
}

model::FunctionId Excerpt::here(model::FunctionId id) {
  return row_here(id, functions_, part_.functions, whole_.functions);
}

// The lines of a frame stand together, so they are copied once with it.
model::FrameId Excerpt::here(model::FrameId id) {
  if (const auto found = frames_.find(id.value); found != frames_.end()) return {found->second};
  model::Frame row = moved(whole_.frames[id.value]);
  const std::uint32_t first = row.line_count == 0 ? 0 : next_row(part_.lines);
  for (std::uint32_t i = 0; i < row.line_count; ++i)
    part_.lines.push_back(moved(whole_.lines[row.first_line + i]));
  row.first_line = first;
  const std::uint32_t number = next_row(part_.frames);
  part_.frames.push_back(row);
  frames_.emplace(id.value, number);
  return {number};
}

// Parents stand before their children, and a stack may be a thousand frames deep: no recursion.
model::StackId Excerpt::here(model::StackId id) {
  std::vector<model::StackId> missing;
  while (id.value != 0 && !stacks_.contains(id.value)) {
    missing.push_back(id);
    id = whole_.stacks[id.value].parent;
  }
  model::StackId parent{id.value == 0 ? 0 : stacks_.at(id.value)};
  for (; !missing.empty(); missing.pop_back()) {
    const model::FrameId leaf = here(whole_.stacks[missing.back().value].frame);
    const std::uint32_t row = next_row(part_.stacks);
    part_.stacks.push_back({parent, leaf});
    stacks_.emplace(missing.back().value, row);
    parent = {row};
  }
  return parent;
}

model::ProcessId Excerpt::here(model::ProcessId id) {
  return row_here(id, processes_, part_.processes, whole_.processes);
}

// Its times are sums over the whole recording, so they are left out: a caller that knows those of the excerpt sets them.
model::ThreadId Excerpt::thread(model::ThreadId id) {
  if (id == model::kNoThread) return id;
  const auto [known, added] = threads_.try_emplace(id.value, next_row(part_.threads));
  if (added) {
    const model::Thread& row = whole_.threads[id.value];
    model::Thread copy;
    copy.process = here(row.process);
    copy.tid = row.tid;
    copy.name = here(row.name);
    copy.start_ns = row.start_ns;
    copy.end_ns = row.end_ns;
    part_.threads.push_back(copy);
  }
  return {known->second};
}

model::WaitObjectId Excerpt::here(model::WaitObjectId id) {
  return id.value == 0 ? id : row_here(id, objects_, part_.objects, whole_.objects);
}

void Excerpt::add(const model::Sample& row) {
  part_.samples.push_back(moved(row));
}

void Excerpt::add(const model::Wait& row) {
  part_.waits.push_back(moved(row));
}

void Excerpt::add(const model::Fault& row) {
  part_.faults.push_back(moved(row));
}

void Excerpt::add(const model::MemoryRange& row) {
  part_.memory_ranges.push_back(moved(row));
}

model::HeapId Excerpt::heap(model::HeapId id) {
  return row_here(id, heaps_, part_.heap.heaps, whole_.heap.heaps);
}

model::HeapAllocatorId Excerpt::here(model::HeapAllocatorId id) {
  return id.value == 0 ? id : row_here(id, allocators_, part_.heap.allocators, whole_.heap.allocators);
}

model::HeapSiteId Excerpt::here(model::HeapSiteId id) {
  return row_here(id, sites_, part_.heap.sites, whole_.heap.sites);
}

model::HeapSliceId Excerpt::add(const model::HeapSlice& row) {
  part_.heap.slices.push_back(moved(row));
  return {next_row(part_.heap.slices) - 1};
}

void Excerpt::add(const model::HeapRow& row, model::HeapSliceId slice) {
  model::HeapRow copy = moved(row);
  copy.slice = slice;
  part_.heap.rows.push_back(copy);
}

void Excerpt::end_heaps(std::uint64_t until_ns) {
  measure_heaps(part_.heap);
  if (heaps_.empty()) return;
  for (const model::HeapHook& hook : whole_.heap.hooks) part_.heap.hooks.push_back(moved(hook));
  for (const model::HeapOutage& outage : whole_.heap.outages) {
    const auto known = heaps_.find(outage.heap.value);
    if (known == heaps_.end() || outage.start_ns >= until_ns) continue;
    part_.heap.outages.push_back({{known->second}, outage.start_ns, std::min(outage.end_ns, until_ns)});
  }
}

}  // namespace fathom::serve
