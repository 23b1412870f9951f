#include "model/profile.h"
#include "model/store/payload.h"

namespace fathom::store {
namespace {

using namespace model;

template <class Tag, class Table>
void mend(Id<Tag>& id, const Table& table) {
  if (id.value >= table.size()) id = {0};
}

// Stacks that were lost, or that lost a frame on the way to the root: their remaining frames are attached to
// the empty stack.
void repair_stacks(Profile& profile) {
  std::vector<StackId> now(profile.stacks.size());
  for (std::uint32_t i = 1; i < profile.stacks.size(); ++i) {
    Stack& row = profile.stacks[i];
    row.parent = row.parent.value < i ? now[row.parent.value] : StackId{0};
    const bool lost = row.frame.value >= profile.frames.size();
    now[i] = lost ? row.parent : StackId{i};
    if (!lost) continue;
    if (profile.frames.empty()) profile.frames.emplace_back();
    row.frame = {0};  // no row refers to it any more
  }
  const auto mend_stack = [&](StackId& id) { id = id.value < now.size() ? now[id.value] : StackId{0}; };
  for (Sample& sample : profile.samples) mend_stack(sample.stack);
  for (Wait& wait : profile.waits) {
    mend_stack(wait.stack);
    mend_stack(wait.waker_stack);
  }
  for (HeapSite& site : profile.heap.sites) mend_stack(site.stack);
  for (Fault& fault : profile.faults) mend_stack(fault.stack);
  for (Calls& row : profile.calls) mend_stack(row.stack);
}

// A thread for samples and waits whose own thread is lost, and a process for it.
ThreadId lost_thread(Profile& profile) {
  if (profile.processes.empty()) profile.processes.emplace_back();
  Thread thread;
  thread.name = profile.strings.intern("[lost thread]");
  profile.threads.push_back(thread);
  return {static_cast<std::uint32_t>(profile.threads.size() - 1)};
}

void repair_threads(Profile& profile) {
  for (Process& row : profile.processes) {
    mend(row.name, profile.strings);
    mend(row.executable, profile.strings);
  }
  if (profile.processes.empty() && !profile.threads.empty()) profile.processes.emplace_back();
  for (Thread& row : profile.threads) {
    mend(row.name, profile.strings);
    mend(row.process, profile.processes);
  }
  const std::size_t known = profile.threads.size();
  std::optional<ThreadId> lost;
  const auto mend_thread = [&](ThreadId& id) {
    if (id.value < known) return;
    if (!lost) lost = lost_thread(profile);
    id = *lost;
  };
  for (Sample& sample : profile.samples) mend_thread(sample.thread);
  for (Wait& wait : profile.waits) {
    mend_thread(wait.thread);
    if (wait.waker.value >= known) wait.waker = kNoThread;
  }
  for (Fault& fault : profile.faults) mend_thread(fault.thread);
}

// Rows without their slice, site or heap have no meaning.
void repair_heap(Profile& profile) {
  HeapTables& heap = profile.heap;
  for (Heap& row : heap.heaps) {
    if (profile.processes.empty()) profile.processes.emplace_back();
    mend(row.process, profile.processes);
  }
  if (heap.heaps.empty() && !(heap.slices.empty() && heap.sites.empty())) {
    if (profile.processes.empty()) profile.processes.emplace_back();
    heap.heaps.emplace_back();
  }
  for (HeapAllocator& row : heap.allocators) {
    mend(row.label, profile.strings);
    mend(row.module, profile.modules);
  }
  for (HeapHook& row : heap.hooks) {
    mend(row.allocator, heap.allocators);
    mend(row.function, profile.strings);
    mend(row.note, profile.strings);
  }
  for (HeapSlice& row : heap.slices) mend(row.heap, heap.heaps);
  for (HeapSite& row : heap.sites) {
    mend(row.heap, heap.heaps);
    mend(row.allocator, heap.allocators);
    if (row.thread.value >= profile.threads.size()) row.thread = kNoThread;
  }
  const auto lost = [&](HeapSiteId site) { return site.value >= heap.sites.size(); };
  std::erase_if(heap.rows, [&](const HeapRow& row) {
    return lost(row.site) || row.slice.value >= heap.slices.size() ||
           heap.slices[row.slice.value].heap != heap.sites[row.site.value].heap;
  });
  std::erase_if(heap.summaries, [&](const HeapSummary& row) { return lost(row.site); });
  std::erase_if(heap.histograms, [&](const HeapHistogram& row) { return lost(row.site); });
  std::erase_if(heap.uses, [&](const HeapUse& row) { return lost(row.site); });
  std::erase_if(heap.returns, [&](const HeapReturn& row) { return lost(row.site); });
}

}  // namespace

void repair(Profile& profile) {
  for (Module& row : profile.modules) {
    mend(row.name, profile.strings);
    mend(row.path, profile.strings);
    mend(row.build_id, profile.strings);
    mend(row.symbols_path, profile.strings);
  }
  for (Function& row : profile.functions) {
    mend(row.name, profile.strings);
    mend(row.module, profile.modules);
  }
  if (profile.functions.empty() && !profile.lines.empty()) profile.functions.emplace_back();
  for (Line& row : profile.lines) {
    mend(row.function, profile.functions);
    mend(row.file, profile.strings);
  }
  for (Frame& row : profile.frames) {
    mend(row.module, profile.modules);
    const std::size_t lines = profile.lines.size();
    if (row.first_line > lines || row.line_count > lines - row.first_line)
      row.first_line = row.line_count = 0;
  }
  repair_stacks(profile);
  repair_threads(profile);
  for (WaitObject& row : profile.objects) mend(row.name, profile.strings);
  for (Wait& row : profile.waits) mend(row.object, profile.objects);
  repair_heap(profile);
  for (Fault& row : profile.faults) mend(row.object, profile.objects);
  // A count without its function has no meaning.
  std::erase_if(profile.calls, [&](const Calls& row) {
    return row.function.value >= profile.functions.size() || row.process.value >= profile.processes.size();
  });
  std::erase_if(profile.memory_ranges,
                [&](const MemoryRange& row) { return row.process.value >= profile.processes.size(); });
  for (MemoryRange& row : profile.memory_ranges) {
    mend(row.name, profile.strings);
    mend(row.allocator, profile.heap.allocators);
  }
  for (Series& row : profile.series) {
    mend(row.name, profile.strings);
    mend(row.unit, profile.strings);
  }
  for (EarlyEnd& row : profile.quality.early_ends) mend(row.module, profile.modules);
}

}  // namespace fathom::store
