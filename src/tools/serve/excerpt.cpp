#include "tools/serve/excerpt.h"

#include <algorithm>
#include <vector>

#include "tools/serve/heap_parts.h"

namespace fathom::serve {
namespace {

template <class Table>
std::uint32_t next_row(const Table& table) {
  return static_cast<std::uint32_t>(table.size());
}

}  // namespace

model::StringId Excerpt::text(model::StringId id) {
  return part_.strings.intern(whole_.strings[id]);
}

model::ModuleId Excerpt::module(model::ModuleId id) {
  if (id.value == 0) return id;
  const auto [known, added] = modules_.try_emplace(id.value, next_row(part_.modules));
  if (added) {
    model::Module row = whole_.modules[id.value];
    row.name = text(row.name);
    row.path = text(row.path);
    row.build_id = text(row.build_id);
    row.symbols_path = text(row.symbols_path);
    part_.modules.push_back(row);
  }
  return {known->second};
}

model::FunctionId Excerpt::function(model::FunctionId id) {
  const auto [known, added] = functions_.try_emplace(id.value, next_row(part_.functions));
  if (added) {
    model::Function row = whole_.functions[id.value];
    row.name = text(row.name);
    row.module = module(row.module);
    part_.functions.push_back(row);
  }
  return {known->second};
}

// The lines of a frame stand together, so they are copied once with it.
model::FrameId Excerpt::frame(model::FrameId id) {
  const auto [known, added] = frames_.try_emplace(id.value, next_row(part_.frames));
  if (!added) return {known->second};
  const std::uint32_t number = known->second;
  model::Frame row = whole_.frames[id.value];
  row.module = module(row.module);
  const std::uint32_t first = row.line_count == 0 ? 0 : next_row(part_.lines);
  for (std::uint32_t i = 0; i < row.line_count; ++i) {
    model::Line line = whole_.lines[row.first_line + i];
    line.function = function(line.function);
    line.file = text(line.file);
    part_.lines.push_back(line);
  }
  row.first_line = first;
  part_.frames.push_back(row);
  return {number};
}

// Parents stand before their children, and a stack may be a thousand frames deep: no recursion.
model::StackId Excerpt::stack(model::StackId id) {
  std::vector<model::StackId> missing;
  while (id.value != 0 && !stacks_.contains(id.value)) {
    missing.push_back(id);
    id = whole_.stacks[id.value].parent;
  }
  model::StackId parent{id.value == 0 ? 0 : stacks_.at(id.value)};
  for (; !missing.empty(); missing.pop_back()) {
    const model::FrameId leaf = frame(whole_.stacks[missing.back().value].frame);
    const std::uint32_t row = next_row(part_.stacks);
    part_.stacks.push_back({parent, leaf});
    stacks_.emplace(missing.back().value, row);
    parent = {row};
  }
  return parent;
}

model::ProcessId Excerpt::process(model::ProcessId id) {
  const auto [known, added] = processes_.try_emplace(id.value, next_row(part_.processes));
  if (added) {
    model::Process row = whole_.processes[id.value];
    row.name = text(row.name);
    row.executable = text(row.executable);
    part_.processes.push_back(row);
  }
  return {known->second};
}

// Its times are sums over the whole recording, so they are left out: a caller that knows those of the excerpt sets them.
model::ThreadId Excerpt::thread(model::ThreadId id) {
  if (id == model::kNoThread) return id;
  const auto [known, added] = threads_.try_emplace(id.value, next_row(part_.threads));
  if (added) {
    const model::Thread& row = whole_.threads[id.value];
    model::Thread copy;
    copy.process = process(row.process);
    copy.tid = row.tid;
    copy.name = text(row.name);
    copy.start_ns = row.start_ns;
    copy.end_ns = row.end_ns;
    part_.threads.push_back(copy);
  }
  return {known->second};
}

model::WaitObjectId Excerpt::object(model::WaitObjectId id) {
  if (id.value == 0) return id;
  const auto [known, added] = objects_.try_emplace(id.value, next_row(part_.objects));
  if (added) {
    model::WaitObject row = whole_.objects[id.value];
    row.name = text(row.name);
    part_.objects.push_back(row);
  }
  return {known->second};
}

void Excerpt::add(const model::Sample& row) {
  model::Sample copy = row;
  copy.thread = thread(row.thread);
  copy.stack = stack(row.stack);
  part_.samples.push_back(copy);
}

void Excerpt::add(const model::Wait& row) {
  model::Wait copy = row;
  copy.thread = thread(row.thread);
  copy.stack = stack(row.stack);
  copy.waker = thread(row.waker);
  copy.waker_stack = stack(row.waker_stack);
  copy.object = object(row.object);
  part_.waits.push_back(copy);
}

void Excerpt::add(const model::Fault& row) {
  model::Fault copy = row;
  copy.thread = thread(row.thread);
  copy.stack = stack(row.stack);
  copy.object = object(row.object);
  part_.faults.push_back(copy);
}

void Excerpt::add(const model::MemoryRange& row) {
  model::MemoryRange copy = row;
  copy.process = process(row.process);
  copy.name = text(row.name);
  copy.allocator = allocator(row.allocator);
  part_.memory_ranges.push_back(copy);
}

model::HeapId Excerpt::heap(model::HeapId id) {
  const auto [known, added] = heaps_.try_emplace(id.value, next_row(part_.heap.heaps));
  if (added) {
    model::Heap row = whole_.heap.heaps[id.value];
    row.process = process(row.process);
    part_.heap.heaps.push_back(row);
  }
  return {known->second};
}

model::HeapAllocatorId Excerpt::allocator(model::HeapAllocatorId id) {
  if (id.value == 0) return id;
  const auto [known, added] = allocators_.try_emplace(id.value, next_row(part_.heap.allocators));
  if (added) {
    model::HeapAllocator row = whole_.heap.allocators[id.value];
    row.label = text(row.label);
    row.module = module(row.module);
    part_.heap.allocators.push_back(row);
  }
  return {known->second};
}

model::HeapSiteId Excerpt::site(model::HeapSiteId id) {
  const auto [known, added] = sites_.try_emplace(id.value, next_row(part_.heap.sites));
  if (added) {
    model::HeapSite row = whole_.heap.sites[id.value];
    row.heap = heap(row.heap);
    row.stack = stack(row.stack);
    row.allocator = allocator(row.allocator);
    row.thread = thread(row.thread);
    part_.heap.sites.push_back(row);
  }
  return {known->second};
}

model::HeapSliceId Excerpt::add(const model::HeapSlice& row) {
  model::HeapSlice copy = row;
  copy.heap = heap(row.heap);
  part_.heap.slices.push_back(copy);
  return {next_row(part_.heap.slices) - 1};
}

void Excerpt::add(const model::HeapRow& row, model::HeapSliceId slice) {
  model::HeapRow copy = row;
  copy.slice = slice;
  copy.site = site(row.site);
  part_.heap.rows.push_back(copy);
}

void Excerpt::end_heaps(std::uint64_t until_ns) {
  measure_heaps(part_.heap);
  if (heaps_.empty()) return;
  for (const model::HeapHook& hook : whole_.heap.hooks) {
    model::HeapHook copy = hook;
    copy.allocator = allocator(hook.allocator);
    copy.function = text(hook.function);
    copy.note = text(hook.note);
    part_.heap.hooks.push_back(copy);
  }
  for (const model::HeapOutage& outage : whole_.heap.outages) {
    const auto known = heaps_.find(outage.heap.value);
    if (known == heaps_.end() || outage.start_ns >= until_ns) continue;
    part_.heap.outages.push_back({{known->second}, outage.start_ns, std::min(outage.end_ns, until_ns)});
  }
}

}  // namespace fathom::serve
