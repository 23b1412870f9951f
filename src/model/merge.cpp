// Joining by content: every row of `from` is looked up in, or added to, `into`, table by table in the order
// in which they refer to each other; a map per table carries the new ids to the next one.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "model/profile.h"

namespace fathom::model {
namespace {

class Merger {
 public:
  Merger(Profile& into, const Profile& from) : into_(into), from_(from), builder_(into) {}

  void merge() {
    merge_meta();
    merge_modules();
    merge_frames();
    merge_stacks();
    merge_threads();
    for (Sample sample : from_.samples) {
      sample.thread = threads_[sample.thread.value];
      sample.stack = stacks_[sample.stack.value];
      into_.samples.push_back(sample);
    }
    merge_waits();
    merge_heap();
    merge_memory();
    merge_series();
    merge_quality();
  }

 private:
  StringId string(StringId id) { return builder_.string(from_.strings[id]); }

  void merge_meta() {
    Meta& meta = into_.meta;
    if (meta == Meta{}) {
      meta = from_.meta;
      return;
    }
    // 0 is "no time known" (imported text), not the earliest time.
    if (from_.meta.start_ns != 0 && (meta.start_ns == 0 || from_.meta.start_ns < meta.start_ns)) {
      meta.start_ns = from_.meta.start_ns;
      meta.start_unix_ns = from_.meta.start_unix_ns;
    }
    meta.end_ns = std::max(meta.end_ns, from_.meta.end_ns);
    if (meta.frequency_hz == 0) meta.frequency_hz = from_.meta.frequency_hz;
    const auto sums = summed_facts();
    meta.facts.insert(from_.meta.facts.begin(), from_.meta.facts.end());
    for (const auto& [key, sum] : sums) {
      meta.facts.erase(key);
      if (sum) meta.facts[key] = std::to_string(*sum);
    }
  }

  // Facts that are amounts of one recording; unknown where one does not tell.
  std::map<std::string, std::optional<std::uint64_t>> summed_facts() const {
    std::map<std::string, std::optional<std::uint64_t>> sums;
    for (const char* key : {"own_start_us", "own_recording_us", "own_naming_us", "cpu_runs", "ended_threads",
                            "probe_hits", "probe_ns", "heap_probe_hits", "heap_probe_ns"}) {
      const auto sum = fact(into_, key), more = fact(from_, key);
      sums[key] = sum && more && *more <= UINT64_MAX - *sum ? std::optional(*sum + *more) : std::nullopt;
    }
    return sums;
  }

  static std::optional<std::uint64_t> fact(const Profile& profile, const std::string& key) {
    const auto found = profile.meta.facts.find(key);
    if (found == profile.meta.facts.end()) return std::nullopt;
    const std::string& text = found->second;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  void merge_modules() {
    for (Module module : from_.modules) {
      module.name = string(module.name);
      module.path = string(module.path);
      module.build_id = string(module.build_id);
      module.symbols_path = string(module.symbols_path);
      const ModuleId id = builder_.module(module);
      Module& row = into_.modules[id.value];
      if (row.symbols == SymbolSource::kNone && module.symbols != SymbolSource::kNone) {
        row.symbols = module.symbols;
        row.symbols_path = module.symbols_path;
      }
      modules_.push_back(id);
    }
  }

  // Functions and lines come along with the frames that use them. A function's module is its frame's in
  // everything that Builder makes.
  void merge_frames() {
    std::vector<Builder::NamedLine> lines;
    for (const Frame& frame : from_.frames) {
      lines.clear();
      for (std::uint32_t i = 0; i < frame.line_count; ++i) {
        const Line& line = from_.lines[frame.first_line + i];
        lines.push_back(
            {from_.strings[from_.functions[line.function.value].name], from_.strings[line.file], line.line});
      }
      frames_.push_back(builder_.frame_with_lines(modules_[frame.module.value], frame.address, lines));
    }
  }

  void merge_stacks() {
    stacks_.push_back({0});
    for (std::size_t i = 1; i < from_.stacks.size(); ++i) {
      const Stack& stack = from_.stacks[i];
      stacks_.push_back(builder_.stack(stacks_[stack.parent.value], frames_[stack.frame.value]));
    }
  }

  void merge_threads() {
    using ProcessKey = std::tuple<std::int32_t, std::uint64_t, StringId, StringId>;
    const auto process_key = [](const Process& row) {
      return ProcessKey{row.pid, row.start_ns, row.name, row.executable};
    };
    std::map<ProcessKey, ProcessId> known_processes;
    for (std::uint32_t i = 0; i < into_.processes.size(); ++i)
      known_processes.emplace(process_key(into_.processes[i]), ProcessId{i});
    for (Process row : from_.processes) {
      row.name = string(row.name);
      row.executable = string(row.executable);
      const auto next = ProcessId{static_cast<std::uint32_t>(into_.processes.size())};
      auto [found, added] = known_processes.emplace(process_key(row), next);
      if (added)
        into_.processes.push_back(row);
      else  // the recording that saw it end knows better than the one that it outlived
        into_.processes[found->second.value].end_ns =
            std::max(into_.processes[found->second.value].end_ns, row.end_ns);
      processes_.push_back(found->second);
    }

    using ThreadKey = std::tuple<ProcessId, std::int32_t, std::uint64_t, StringId>;
    const auto thread_key = [](const Thread& row) {
      return ThreadKey{row.process, row.tid, row.start_ns, row.name};
    };
    std::map<ThreadKey, ThreadId> known_threads;
    for (std::uint32_t i = 0; i < into_.threads.size(); ++i)
      known_threads.emplace(thread_key(into_.threads[i]), ThreadId{i});
    for (Thread row : from_.threads) {
      row.name = string(row.name);
      row.process = processes_[row.process.value];
      const auto next = ThreadId{static_cast<std::uint32_t>(into_.threads.size())};
      auto [found, added] = known_threads.emplace(thread_key(row), next);
      if (added) {
        into_.threads.push_back(row);
      } else {
        Thread& same = into_.threads[found->second.value];
        same.end_ns = std::max(same.end_ns, row.end_ns);
        same.cpu_ns += row.cpu_ns;
        same.ran_ns += row.ran_ns;
        same.waited_ns += row.waited_ns;
        same.queued_ns += row.queued_ns;
        same.waits += row.waits;
        same.preemptions += row.preemptions;
        same.unwalked_waits += row.unwalked_waits;
        same.unwalked_ns += row.unwalked_ns;
      }
      threads_.push_back(found->second);
    }
  }

  void merge_waits() {
    std::map<WaitObject, WaitObjectId> known;
    for (std::uint32_t i = 0; i < into_.objects.size(); ++i) known.emplace(into_.objects[i], WaitObjectId{i});
    std::vector<WaitObjectId> objects;
    for (WaitObject row : from_.objects) {
      row.name = string(row.name);
      const auto next = WaitObjectId{static_cast<std::uint32_t>(into_.objects.size())};
      auto [found, added] = known.emplace(row, next);
      if (added) into_.objects.push_back(row);
      objects.push_back(found->second);
    }
    for (Wait wait : from_.waits) {
      wait.thread = threads_[wait.thread.value];
      if (wait.waker != kNoThread) wait.waker = threads_[wait.waker.value];
      wait.stack = stacks_[wait.stack.value];
      wait.waker_stack = stacks_[wait.waker_stack.value];
      wait.object = objects[wait.object.value];
      into_.waits.push_back(wait);
    }
    for (Fault fault : from_.faults) {
      fault.thread = threads_[fault.thread.value];
      fault.stack = stacks_[fault.stack.value];
      fault.object = objects[fault.object.value];
      into_.faults.push_back(fault);
    }
    for (Calls row : from_.calls) {
      const Function& function = from_.functions[row.function.value];
      row.function = builder_.function(from_.strings[function.name], modules_[function.module.value]);
      row.process = processes_[row.process.value];
      row.stack = stacks_[row.stack.value];
      into_.calls.push_back(row);
    }
  }

  // Looks every row up in `rows`, or adds it; the ids that the rows of `from` have there.
  template <class IdType, class Row, class Change>
  static std::vector<IdType> join(std::vector<Row>& rows, const std::vector<Row>& from,
                                  const Change& change) {
    std::map<Row, IdType> known;
    for (std::uint32_t i = 0; i < rows.size(); ++i) known.emplace(rows[i], IdType{i});
    std::vector<IdType> ids;
    for (Row row : from) {
      change(row);
      const auto [found, added] = known.emplace(row, IdType{static_cast<std::uint32_t>(rows.size())});
      if (added) rows.push_back(row);
      ids.push_back(found->second);
    }
    return ids;
  }

  // A heap is the same if it is of the same process and began at the same time: two parts of one recording.
  // Then what is of the whole recording (counters, summaries, histograms, uses) is in both, and is taken
  // once.
  std::vector<HeapId> merge_heaps() {
    std::vector<HeapId> ids;
    auto& heaps = into_.heap.heaps;
    for (Heap row : from_.heap.heaps) {
      row.process = processes_[row.process.value];
      const auto same = std::find_if(heaps.begin(), heaps.end(), [&](const Heap& heap) {
        return heap.process == row.process && heap.start_ns == row.start_ns && heap.mode == row.mode;
      });
      ids.push_back({static_cast<std::uint32_t>(same - heaps.begin())});
      if (same == heaps.end()) {
        heaps.push_back(row);
      } else if (row.end_ns > same->end_ns) {  // it knows more
        *same = row;
      }
    }
    return ids;
  }

  void merge_heap() {
    HeapTables& into = into_.heap;
    const HeapTables& from = from_.heap;
    const std::vector<HeapId> heaps = merge_heaps();
    allocators_ = join<HeapAllocatorId>(into.allocators, from.allocators, [&](HeapAllocator& row) {
      row.label = string(row.label);
      row.module = modules_[row.module.value];
    });
    join<Id<struct HookTag>>(into.hooks, from.hooks, [&](HeapHook& row) {
      row.allocator = allocators_[row.allocator.value];
      row.function = string(row.function);
      row.note = string(row.note);
    });
    std::set<HeapOutage> outages(into.outages.begin(), into.outages.end());
    for (HeapOutage row : from.outages) {
      row.heap = heaps[row.heap.value];
      outages.insert(row);
    }
    into.outages.assign(outages.begin(), outages.end());
    const auto slices = join<HeapSliceId>(into.slices, from.slices,
                                          [&](HeapSlice& row) { row.heap = heaps[row.heap.value]; });
    const auto sites = join<HeapSiteId>(into.sites, from.sites, [&](HeapSite& row) {
      row.heap = heaps[row.heap.value];
      row.stack = stacks_[row.stack.value];
      row.allocator = allocators_[row.allocator.value];
      if (row.thread != kNoThread) row.thread = threads_[row.thread.value];
    });
    for (HeapRow row : from.rows) {
      row.slice = slices[row.slice.value];
      row.site = sites[row.site.value];
      into.rows.push_back(row);
    }
    for (HeapBlock row : from.blocks) {
      row.site = sites[row.site.value];
      if (row.freed_by != kNoThread) row.freed_by = threads_[row.freed_by.value];
      into.blocks.push_back(row);
    }
    std::set<HeapSiteId> summed, counted, used, returned;
    for (const HeapSummary& row : into.summaries) summed.insert(row.site);
    for (const HeapHistogram& row : into.histograms) counted.insert(row.site);
    for (const HeapUse& row : into.uses) used.insert(row.site);
    for (const HeapReturn& row : into.returns) returned.insert(row.site);
    for (HeapSummary row : from.summaries) {
      row.site = sites[row.site.value];
      if (summed.count(row.site) == 0) into.summaries.push_back(row);
    }
    for (HeapHistogram row : from.histograms) {
      row.site = sites[row.site.value];
      if (counted.count(row.site) == 0) into.histograms.push_back(row);
    }
    for (HeapUse row : from.uses) {
      row.site = sites[row.site.value];
      if (used.count(row.site) == 0) into.uses.push_back(row);
    }
    for (HeapReturn row : from.returns) {
      row.site = sites[row.site.value];
      if (returned.count(row.site) == 0) into.returns.push_back(row);
    }
  }

  void merge_memory() {
    for (MemoryRange row : from_.memory_ranges) {
      row.process = processes_[row.process.value];
      row.name = string(row.name);
      row.allocator = allocators_[row.allocator.value];
      into_.memory_ranges.push_back(row);
    }
  }

  void merge_series() {
    using Key = std::tuple<StringId, StringId, std::int32_t>;
    std::map<Key, std::size_t> known;
    for (std::size_t i = 0; i < into_.series.size(); ++i)
      known.emplace(Key{into_.series[i].name, into_.series[i].unit, into_.series[i].pid}, i);
    for (const Series& series : from_.series) {
      const Key key{string(series.name), string(series.unit), series.pid};
      auto [found, added] = known.emplace(key, into_.series.size());
      if (added) into_.series.push_back({std::get<0>(key), std::get<1>(key), series.pid, {}});
      auto& points = into_.series[found->second].points;
      points.insert(points.end(), series.points.begin(), series.points.end());
    }
  }

  void merge_quality() {
    Quality& sum = into_.quality;
    const Quality& more = from_.quality;
    sum.samples += more.samples;
    sum.filtered += more.filtered;
    sum.expected_samples += more.expected_samples;
    sum.lost_ring_full += more.lost_ring_full;
    sum.lost_stack += more.lost_stack;
    sum.lost_throttled += more.lost_throttled;
    sum.lost_records += more.lost_records;
    sum.lost_disk += more.lost_disk;
    sum.complete += more.complete;
    sum.kernel_truncated += more.kernel_truncated;
    for (EarlyEnd end : more.early_ends) {
      end.module = modules_[end.module.value];
      auto same = std::find_if(sum.early_ends.begin(), sum.early_ends.end(), [&](const EarlyEnd& row) {
        return row.reason == end.reason && row.module == end.module;
      });
      if (same != sum.early_ends.end())
        same->count += end.count;
      else
        sum.early_ends.push_back(end);
    }
    sum.table_overflows += more.table_overflows;
    sum.profiler_cpu_ns += more.profiler_cpu_ns;
    sum.profiler_rss_bytes = std::max(sum.profiler_rss_bytes, more.profiler_rss_bytes);  // a peak
    sum.bpf_ns += more.bpf_ns;
    sum.bpf_runs += more.bpf_runs;
    sum.kernel_memory_bytes += more.kernel_memory_bytes;
    sum.target_stops += more.target_stops;
    sum.target_stop_ns = std::max(sum.target_stop_ns, more.target_stop_ns);  // the longest
    sum.waits += more.waits;
    sum.filtered_waits += more.filtered_waits;
    sum.unwalked_waits += more.unwalked_waits;
    sum.unwalked_ns += more.unwalked_ns;
    sum.lost_waits += more.lost_waits;
    sum.switches += more.switches;
    sum.switch_ns += more.switch_ns;
    sum.truncated = sum.truncated || more.truncated;
    for (const std::string& note : more.notes)
      if (std::find(sum.notes.begin(), sum.notes.end(), note) == sum.notes.end()) sum.notes.push_back(note);
  }

  Profile& into_;
  const Profile& from_;
  Builder builder_;
  std::vector<ModuleId> modules_;
  std::vector<FrameId> frames_;
  std::vector<StackId> stacks_;
  std::vector<ProcessId> processes_;
  std::vector<ThreadId> threads_;
  std::vector<HeapAllocatorId> allocators_;
};

}  // namespace

void merge(Profile& into, const Profile& from) {
  if (&into == &from) {
    const Profile copy = from;
    Merger(into, copy).merge();
    return;
  }
  Merger(into, from).merge();
}

}  // namespace fathom::model
