#include <fmt/format.h>

#include <cmath>

#include "model/profile.h"

namespace fathom::model {
namespace {

tl::unexpected<Error> bad(std::string_view table, std::size_t row, std::string_view what) {
  return fail(ErrorKind::kMalformed, fmt::format("{} {}: {}", table, row, what));
}

bool known(ModuleKind kind) {
  return kind <= ModuleKind::kNames;
}
bool known(SymbolSource source) {
  return source <= SymbolSource::kGo;
}
bool known(Metric metric) {
  return metric <= kLastSampleMetric;
}
bool known(ObjectKind kind) {
  return kind <= ObjectKind::kProcess;
}
bool known(WaitState state) {
  return state <= WaitState::kOther;
}

// The limit is far above all that any memory can hold, and far enough below the end that sums over any number
// of rows stay finite.
bool sound(double value) {
  return value >= 0 && value <= 1e60;  // false for NaN
}
// Sums over all rows of a file stay below 2^64.
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 48;
bool sound(const HeapSum& sum) {
  return sound(sum.blocks) && sound(sum.bytes);
}
bool sound(const HeapVariance& sum) {
  return sound(sum.blocks) && sound(sum.bytes);
}

Result<> check_names(const Profile& profile) {
  const std::size_t strings = profile.strings.size();
  const std::size_t modules = profile.modules.size();
  if (modules == 0 || profile.modules[0].kind != ModuleKind::kUnknown)
    return fail(ErrorKind::kMalformed, "module 0 is not the unknown module");
  for (std::size_t i = 0; i < modules; ++i) {
    const Module& row = profile.modules[i];
    if (!known(row.kind) || !known(row.symbols)) return bad("module", i, "unknown kind");
    if (row.name.value >= strings || row.path.value >= strings || row.build_id.value >= strings ||
        row.symbols_path.value >= strings)
      return bad("module", i, "no such string");
  }
  for (std::size_t i = 0; i < profile.functions.size(); ++i) {
    const Function& row = profile.functions[i];
    if (row.name.value >= strings) return bad("function", i, "no such string");
    if (row.module.value >= modules) return bad("function", i, "no such module");
  }
  for (std::size_t i = 0; i < profile.lines.size(); ++i) {
    const Line& row = profile.lines[i];
    if (row.function.value >= profile.functions.size()) return bad("line", i, "no such function");
    if (row.file.value >= strings) return bad("line", i, "no such string");
  }
  return {};
}

Result<> check_stacks(const Profile& profile) {
  const std::size_t lines = profile.lines.size();
  for (std::size_t i = 0; i < profile.frames.size(); ++i) {
    const Frame& row = profile.frames[i];
    if (row.module.value >= profile.modules.size()) return bad("frame", i, "no such module");
    if (row.first_line > lines || row.line_count > lines - row.first_line)
      return bad("frame", i, "lines outside of their table");
  }
  if (profile.stacks.empty()) return fail(ErrorKind::kMalformed, "stack 0 is missing");
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {
    const Stack& row = profile.stacks[i];
    if (row.parent.value >= i) return bad("stack", i, "does not stand after its parent");
    if (row.frame.value >= profile.frames.size()) return bad("stack", i, "no such frame");
  }
  return {};
}

Result<> check_threads(const Profile& profile) {
  const std::size_t strings = profile.strings.size();
  for (std::size_t i = 0; i < profile.processes.size(); ++i) {
    const Process& row = profile.processes[i];
    if (row.name.value >= strings || row.executable.value >= strings)
      return bad("process", i, "no such string");
  }
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    const Thread& row = profile.threads[i];
    if (row.process.value >= profile.processes.size()) return bad("thread", i, "no such process");
    if (row.name.value >= strings) return bad("thread", i, "no such string");
  }
  return {};
}

Result<> check_waits(const Profile& profile) {
  if (profile.objects.empty() || profile.objects[0] != WaitObject{})
    return fail(ErrorKind::kMalformed, "object 0 is not the unknown object");
  for (std::size_t i = 0; i < profile.objects.size(); ++i) {
    const WaitObject& row = profile.objects[i];
    if (!known(row.kind)) return bad("object", i, "unknown kind");
    if (row.name.value >= profile.strings.size()) return bad("object", i, "no such string");
  }
  const std::size_t threads = profile.threads.size(), stacks = profile.stacks.size();
  std::size_t at = 0;
  for (const Wait& row : profile.all_waits()) {
    const std::size_t i = at++;
    if (row.thread.value >= threads) return bad("wait", i, "no such thread");
    if (row.waker != kNoThread && row.waker.value >= threads) return bad("wait", i, "no such waker");
    if (row.stack.value >= stacks || row.waker_stack.value >= stacks) return bad("wait", i, "no such stack");
    if (row.object.value >= profile.objects.size()) return bad("wait", i, "no such object");
    if (!known(row.state)) return bad("wait", i, "unknown state");
    if (row.weight == 0) return bad("wait", i, "stands for no wait");
    const std::uint64_t left = UINT64_MAX - row.start_ns;
    if (row.waited_ns > left || row.queued_ns > left - row.waited_ns)
      return bad("wait", i, "ends beyond the end of time");
  }
  for (std::size_t i = 0; i < profile.faults.size(); ++i) {
    const Fault& row = profile.faults[i];
    if (row.thread.value >= threads) return bad("fault", i, "no such thread");
    if (row.stack.value >= stacks) return bad("fault", i, "no such stack");
    if (row.object.value >= profile.objects.size()) return bad("fault", i, "no such object");
    if (row.weight == 0) return bad("fault", i, "stands for no fault");
  }
  return {};
}

Result<> check_calls(const Profile& profile) {
  for (std::size_t i = 0; i < profile.calls.size(); ++i) {
    const Calls& row = profile.calls[i];
    if (row.function.value >= profile.functions.size()) return bad("calls", i, "no such function");
    if (row.process.value >= profile.processes.size()) return bad("calls", i, "no such process");
    if (row.stack.value >= profile.stacks.size()) return bad("calls", i, "no such stack");
  }
  return {};
}

Result<> check_heap_names(const Profile& profile) {
  const HeapTables& heap = profile.heap;
  const std::size_t strings = profile.strings.size();
  if (heap.allocators.empty() || heap.allocators[0] != HeapAllocator{})
    return fail(ErrorKind::kMalformed, "allocator 0 is not the unknown allocator");
  for (std::size_t i = 0; i < heap.heaps.size(); ++i) {
    const Heap& row = heap.heaps[i];
    if (row.process.value >= profile.processes.size()) return bad("heap", i, "no such process");
    if (row.mode > HeapMode::kExact) return bad("heap", i, "unknown mode");
    if (!sound(HeapSum{row.peak_blocks, row.peak_bytes})) return bad("heap", i, "a peak that is no number");
  }
  for (std::size_t i = 0; i < heap.allocators.size(); ++i) {
    const HeapAllocator& row = heap.allocators[i];
    if (row.label.value >= strings) return bad("allocator", i, "no such string");
    if (row.module.value >= profile.modules.size()) return bad("allocator", i, "no such module");
  }
  for (std::size_t i = 0; i < heap.hooks.size(); ++i) {
    const HeapHook& row = heap.hooks[i];
    if (row.allocator.value >= heap.allocators.size()) return bad("hook", i, "no such allocator");
    if (row.function.value >= strings || row.note.value >= strings) return bad("hook", i, "no such string");
    if (row.kind > HookKind::kProbe) return bad("hook", i, "unknown kind");
  }
  return {};
}

Result<> check_heap(const Profile& profile) {
  if (auto names = check_heap_names(profile); !names) return names;
  const HeapTables& heap = profile.heap;
  for (std::size_t i = 0; i < heap.outages.size(); ++i) {
    const HeapOutage& row = heap.outages[i];
    if (row.heap.value >= heap.heaps.size()) return bad("heap outage", i, "no such heap");
    if (row.end_ns < row.start_ns) return bad("heap outage", i, "ends before it starts");
  }
  for (std::size_t i = 0; i < heap.slices.size(); ++i) {
    const HeapSlice& row = heap.slices[i];
    if (row.heap.value >= heap.heaps.size()) return bad("heap slice", i, "no such heap");
    if (row.end_ns < row.start_ns) return bad("heap slice", i, "ends before it starts");
    if (!sound(HeapSum{row.live_blocks, row.live_bytes}) || !sound(row.peak_bytes))
      return bad("heap slice", i, "a sum that is no number");
  }
  for (std::size_t i = 0; i < heap.sites.size(); ++i) {
    const HeapSite& row = heap.sites[i];
    if (row.heap.value >= heap.heaps.size()) return bad("heap site", i, "no such heap");
    if (row.stack.value >= profile.stacks.size()) return bad("heap site", i, "no such stack");
    if (row.allocator.value >= heap.allocators.size()) return bad("heap site", i, "no such allocator");
    if (row.thread != kNoThread && row.thread.value >= profile.threads.size())
      return bad("heap site", i, "no such thread");
  }
  const std::size_t sites = heap.sites.size();
  std::size_t at = 0;
  for (const HeapRow& row : heap.all_rows()) {
    const std::size_t i = at++;
    if (row.slice.value >= heap.slices.size()) return bad("heap row", i, "no such slice");
    if (row.site.value >= sites) return bad("heap row", i, "no such site");
    if (heap.slices[row.slice.value].heap != heap.sites[row.site.value].heap)
      return bad("heap row", i, "slice and site are of two heaps");
    if (!sound(row.allocated) || !sound(row.freed) || !sound(row.temporary) || !sound(row.short_lived) ||
        !sound(row.allocated_variance) || !sound(row.freed_variance) || !sound(row.churn_variance))
      return bad("heap row", i, "a sum that is no number");
  }
  for (std::size_t i = 0; i < heap.summaries.size(); ++i) {
    const HeapSummary& row = heap.summaries[i];
    if (row.site.value >= sites) return bad("heap summary", i, "no such site");
    if (!sound(row.peak) || !sound(row.peak_variance))
      return bad("heap summary", i, "a sum that is no number");
  }
  for (std::size_t i = 0; i < heap.histograms.size(); ++i) {
    const HeapHistogram& row = heap.histograms[i];
    if (row.site.value >= sites) return bad("heap histogram", i, "no such site");
    if (row.kind > HeapHistogramKind::kAge || row.bucket > 64)
      return bad("heap histogram", i, "unknown kind or bucket");
    if (!sound(row.sum)) return bad("heap histogram", i, "a sum that is no number");
  }
  for (std::size_t i = 0; i < heap.uses.size(); ++i) {
    const HeapUse& row = heap.uses[i];
    if (row.site.value >= sites) return bad("heap use", i, "no such site");
    if (!sound(row.live_usable) || !sound(row.wrong_size) || !sound(row.foreign))
      return bad("heap use", i, "a sum that is no number");
  }
  for (std::size_t i = 0; i < heap.returns.size(); ++i) {
    const HeapReturn& row = heap.returns[i];
    if (row.site.value >= sites) return bad("heap return", i, "no such site");
    if (!sound(row.given_back)) return bad("heap return", i, "a sum that is no number");
  }
  for (std::size_t i = 0; i < heap.blocks.size(); ++i) {
    const HeapBlock& row = heap.blocks[i];
    if (row.site.value >= sites) return bad("heap block", i, "no such site");
    if (row.freed_by != kNoThread && row.freed_by.value >= profile.threads.size())
      return bad("heap block", i, "no such thread");
    if (row.last_slice < row.first_slice) return bad("heap block", i, "freed before it was allocated");
    if (row.lifetime_ns > UINT64_MAX - row.allocated_ns) return bad("heap block", i, "a life without end");
  }
  return {};
}

Result<> check_memory(const Profile& profile) {
  for (std::size_t i = 0; i < profile.memory_ranges.size(); ++i) {
    const MemoryRange& row = profile.memory_ranges[i];
    if (row.process.value >= profile.processes.size()) return bad("memory range", i, "no such process");
    if (row.kind > MemoryKind::kNotSplit) return bad("memory range", i, "unknown kind");
    if (row.name.value >= profile.strings.size()) return bad("memory range", i, "no such string");
    if (row.allocator.value >= profile.heap.allocators.size())
      return bad("memory range", i, "no such allocator");
    for (const std::uint64_t bytes : {row.virtual_bytes, row.rss_bytes, row.swap_bytes, row.huge_bytes})
      if (bytes > kMostMemory) return bad("memory range", i, "more bytes than there are addresses");
    if (row.anonymous_bytes > row.rss_bytes) return bad("memory range", i, "a part that exceeds the whole");
    for (const double value :
         {row.live_blocks, row.live_bytes, row.live_resident_bytes, row.live_resident_variance})
      if (!sound(value)) return bad("memory range", i, "a sum that is no number");
  }
  return {};
}

}  // namespace

Result<> check(const Profile& profile) {
  if (profile.strings.size() == 0 || !profile.strings[{0}].empty())
    return fail(ErrorKind::kMalformed, "string 0 is not the empty string");
  if (auto names = check_names(profile); !names) return names;
  if (auto stacks = check_stacks(profile); !stacks) return stacks;
  if (auto threads = check_threads(profile); !threads) return threads;
  std::size_t at = 0;
  for (const Sample& row : profile.all_samples()) {
    const std::size_t i = at++;
    if (row.thread.value >= profile.threads.size()) return bad("sample", i, "no such thread");
    if (row.stack.value >= profile.stacks.size()) return bad("sample", i, "no such stack");
    if (!known(row.metric)) return bad("sample", i, "unknown metric");
  }
  if (auto waits = check_waits(profile); !waits) return waits;
  if (auto calls = check_calls(profile); !calls) return calls;
  if (auto heap = check_heap(profile); !heap) return heap;
  if (auto memory = check_memory(profile); !memory) return memory;
  for (std::size_t i = 0; i < profile.series.size(); ++i) {
    const Series& row = profile.series[i];
    if (row.name.value >= profile.strings.size() || row.unit.value >= profile.strings.size())
      return bad("series", i, "no such string");
  }
  for (std::size_t i = 0; i < profile.quality.early_ends.size(); ++i)
    if (profile.quality.early_ends[i].module.value >= profile.modules.size())
      return bad("early end", i, "no such module");
  return {};
}

}  // namespace fathom::model
