// Joining by content: every row of `from` is looked up in, or added to, `into`, table by table in the order
// in which they refer to each other; a map per table carries the new ids to the next one.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "model/facts.h"
#include "model/fields.h"
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
    objects_ = join<WaitObjectId>(into_.objects, from_.objects);
    append(into_.samples, from_.samples);
    append(into_.waits, from_.waits);
    append(into_.faults, from_.faults);
    append(into_.calls, from_.calls);
    append(into_.spans, from_.spans);
    merge_heap();
    append(into_.memory_ranges, from_.memory_ranges);
    merge_series();
    merge_quality();
  }

 private:
  // --- ids of `from`, as they are in `into` ---
  StringId now(StringId id) { return builder_.string(from_.strings[id]); }
  ModuleId now(ModuleId id) const { return modules_[id.value]; }
  FunctionId now(FunctionId id) {
    const Function& function = from_.functions[id.value];
    return builder_.function(from_.strings[function.name], now(function.module));
  }
  StackId now(StackId id) const { return stacks_[id.value]; }
  ProcessId now(ProcessId id) const { return processes_[id.value]; }
  ThreadId now(ThreadId id) const { return threads_[id.value]; }
  WaitObjectId now(WaitObjectId id) const { return objects_[id.value]; }
  HeapId now(HeapId id) const { return heaps_[id.value]; }
  HeapAllocatorId now(HeapAllocatorId id) const { return allocators_[id.value]; }
  HeapSliceId now(HeapSliceId id) const { return slices_[id.value]; }
  HeapSiteId now(HeapSiteId id) const { return sites_[id.value]; }

  void translate_value(auto& value) {
    if constexpr (requires { value = now(value); }) value = now(value);
  }
  template <class T>
  void translate_value(Optional<T>& field) {
    if (field.value != field.none) translate_value(field.value);
  }
  // A row of `from` with the ids of `into`.
  template <class Row>
  Row translated(Row row) {
    fields_of([this](const Field&, auto&& value) { this->translate_value(value); }, row);
    return row;
  }

  template <class Row>
  void append(std::vector<Row>& rows, const std::vector<Row>& from) {
    for (const Row& row : from) rows.push_back(translated(row));
  }

  // Looks every row up in `rows`, or adds it; the ids that the rows of `from` have there.
  template <class IdType, class Row>
  std::vector<IdType> join(std::vector<Row>& rows, const std::vector<Row>& from) {
    std::map<Row, IdType> known;
    for (std::uint32_t i = 0; i < rows.size(); ++i) known.emplace(rows[i], IdType{i});
    std::vector<IdType> ids;
    for (const Row& old : from) {
      const Row row = translated(old);
      const auto [found, added] = known.emplace(row, IdType{static_cast<std::uint32_t>(rows.size())});
      if (added) rows.push_back(row);
      ids.push_back(found->second);
    }
    return ids;
  }

  // What both rows have of one thing: sums add up, of peaks and ends the greatest counts, and what one of the two knows to be true is.
  template <class Row>
  static void add(Row& into, const Row& from) {
    fields_of(
        [](const Field& field, auto&& value, const auto& more) {
          if constexpr (std::is_arithmetic_v<std::decay_t<decltype(more)>>) {
            if (field.storage.joined == Joined::kGreatest || std::is_same_v<decltype(more), const bool&>)
              value = std::max(value, more);
            else if (field.storage.joined == Joined::kSum)
              value += more;
          }
        },
        into, from);
  }

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
    join_facts(meta.facts, from_.meta.facts);
  }

  void merge_modules() {
    for (const Module& old : from_.modules) {
      const Module module = translated(old);
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
    for (const Process& old : from_.processes) {
      const Process row = translated(old);
      const auto next = ProcessId{static_cast<std::uint32_t>(into_.processes.size())};
      auto [found, added] = known_processes.emplace(process_key(row), next);
      if (added)
        into_.processes.push_back(row);
      else  // the recording that saw it end knows better than the one that it outlived
        add(into_.processes[found->second.value], row);
      processes_.push_back(found->second);
    }

    using ThreadKey = std::tuple<ProcessId, std::int32_t, std::uint64_t, StringId>;
    const auto thread_key = [](const Thread& row) {
      return ThreadKey{row.process, row.tid, row.start_ns, row.name};
    };
    std::map<ThreadKey, ThreadId> known_threads;
    for (std::uint32_t i = 0; i < into_.threads.size(); ++i)
      known_threads.emplace(thread_key(into_.threads[i]), ThreadId{i});
    for (const Thread& old : from_.threads) {
      const Thread row = translated(old);
      const auto next = ThreadId{static_cast<std::uint32_t>(into_.threads.size())};
      auto [found, added] = known_threads.emplace(thread_key(row), next);
      if (added)
        into_.threads.push_back(row);
      else
        add(into_.threads[found->second.value], row);
      threads_.push_back(found->second);
    }
  }

  // A heap is the same if it is of the same process and began at the same time: two parts of one recording.
  // Then what is of the whole recording (counters, summaries, histograms, uses) is in both, and is taken
  // once.
  void merge_heaps() {
    auto& heaps = into_.heap.heaps;
    for (const Heap& old : from_.heap.heaps) {
      const Heap row = translated(old);
      const auto same = std::find_if(heaps.begin(), heaps.end(), [&](const Heap& heap) {
        return heap.process == row.process && heap.start_ns == row.start_ns && heap.mode == row.mode;
      });
      heaps_.push_back({static_cast<std::uint32_t>(same - heaps.begin())});
      if (same == heaps.end()) {
        heaps.push_back(row);
      } else if (row.end_ns > same->end_ns) {  // it knows more
        *same = row;
      }
    }
  }

  void merge_heap() {
    HeapTables& into = into_.heap;
    const HeapTables& from = from_.heap;
    merge_heaps();
    allocators_ = join<HeapAllocatorId>(into.allocators, from.allocators);
    join<Id<struct HookTag>>(into.hooks, from.hooks);
    std::set<HeapOutage> outages(into.outages.begin(), into.outages.end());
    for (const HeapOutage& row : from.outages) outages.insert(translated(row));
    into.outages.assign(outages.begin(), outages.end());
    slices_ = join<HeapSliceId>(into.slices, from.slices);
    sites_ = join<HeapSiteId>(into.sites, from.sites);
    append(into.rows, from.rows);
    append(into.blocks, from.blocks);
    append_new_sites(into.summaries, from.summaries);
    append_new_sites(into.histograms, from.histograms);
    append_new_sites(into.uses, from.uses);
    append_new_sites(into.returns, from.returns);
  }

  // Rows of sites that have none yet.
  template <class Row>
  void append_new_sites(std::vector<Row>& rows, const std::vector<Row>& from) {
    std::set<HeapSiteId> there;
    for (const Row& row : rows) there.insert(row.site);
    for (const Row& old : from) {
      const Row row = translated(old);
      if (there.count(row.site) == 0) rows.push_back(row);
    }
  }

  void merge_series() {
    using Key = std::tuple<StringId, StringId, std::int32_t>;
    std::map<Key, std::size_t> known;
    for (std::size_t i = 0; i < into_.series.size(); ++i)
      known.emplace(Key{into_.series[i].name, into_.series[i].unit, into_.series[i].pid}, i);
    for (const Series& series : from_.series) {
      const Key key{now(series.name), now(series.unit), series.pid};
      auto [found, added] = known.emplace(key, into_.series.size());
      if (added) into_.series.push_back({std::get<0>(key), std::get<1>(key), series.pid, {}});
      auto& points = into_.series[found->second].points;
      points.insert(points.end(), series.points.begin(), series.points.end());
    }
  }

  void merge_quality() {
    Quality& sum = into_.quality;
    const Quality& more = from_.quality;
    add(sum, more);
    for (const EarlyEnd& old : more.early_ends) {
      const EarlyEnd end = translated(old);
      auto same = std::find_if(sum.early_ends.begin(), sum.early_ends.end(), [&](const EarlyEnd& row) {
        return row.reason == end.reason && row.module == end.module;
      });
      if (same != sum.early_ends.end())
        add(*same, end);
      else
        sum.early_ends.push_back(end);
    }
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
  std::vector<WaitObjectId> objects_;
  std::vector<HeapId> heaps_;
  std::vector<HeapAllocatorId> allocators_;
  std::vector<HeapSliceId> slices_;
  std::vector<HeapSiteId> sites_;
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
