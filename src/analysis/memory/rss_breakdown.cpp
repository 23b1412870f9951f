#include "analysis/memory/rss_breakdown.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/core/unseen_allocators.h"
#include "base/stable_sort.h"
#include "model/free_before.h"
#include "model/lazy_free.h"

namespace fathom::analysis {
namespace {

using namespace model;

// The rows of one process at one moment.
struct Composition {
  std::uint64_t time_ns = 0;
  std::vector<const MemoryRange*> rows;
};

constexpr std::uint64_t kLongestSinceSharing = 10'500'000'000;  // it is read every ten seconds

bool is_of_allocators(MemoryKind kind) {
  return kind == MemoryKind::kAllocator || kind == MemoryKind::kBreak;
}

class Maker {
 public:
  Maker(const Profile& profile, const Selection& selection) : profile_(profile), selection_(selection) {
    until_ns_ = profile.meta.end_ns;
    if (selection.to_ns && *selection.to_ns < UINT64_MAX - profile.meta.start_ns)
      until_ns_ = std::min(until_ns_, profile.meta.start_ns + *selection.to_ns);
  }

  std::optional<RssBreakdown> make() {
    choose();
    if (chosen_.empty()) return std::nullopt;
    for (const auto& [process, composition] : chosen_) {
      ++breakdown_.processes;
      add_heap_facts(process);
      for (const MemoryRange* row : composition.rows) add(*row);
      bound_earlier(process, composition);
      const auto lazy = lazy_free_of(profile_.processes[process.value].pid, profile_.meta.facts);
      if (lazy && !selection_.to_ns)
        breakdown_.lazy_free = breakdown_.lazy_free.value_or(0) + static_cast<double>(*lazy);
      if (const auto value = series_at("memory.page_tables", process, composition.time_ns))
        breakdown_.page_tables = breakdown_.page_tables.value_or(0) + *value;
      if (const auto value = series_at("cgroup.memory", process, composition.time_ns))
        breakdown_.cgroup = std::max(breakdown_.cgroup.value_or(0), *value);
      add_sharing(process, composition.time_ns);
      set_time(process, composition.time_ns);
    }
    if (shared_of_ != breakdown_.processes) breakdown_.sharing.reset();
    split_anonymous();
    measure_rounding();
    sort_ranges();
    // A recorder that is not killed looks once more before it ends.
    breakdown_.file_caches = recorded_file_caches(profile_, selection_.pid, until_ns_);
    breakdown_.at_end = !selection_.to_ns && !profile_.quality.truncated;
    breakdown_.live = live_;
    return std::move(breakdown_);
  }

 private:
  // Of each process the last composition that is not after the end of what is selected; of those that have
  // ended by then only the last one, and it only if none is left.
  void choose() {
    std::map<ProcessId, Composition> last;
    for (const MemoryRange& row : profile_.memory_ranges) {
      const Process& process = profile_.processes[row.process.value];
      if (selection_.pid && process.pid != *selection_.pid) continue;
      auto& first = first_[row.process];
      if (first.rows.empty() || row.time_ns < first.time_ns) first = {row.time_ns, {}};
      if (row.time_ns == first.time_ns) first.rows.push_back(&row);
      if (row.time_ns > until_ns_) continue;
      Composition& composition = last[row.process];
      if (row.time_ns > composition.time_ns) composition = {row.time_ns, {}};
      if (row.time_ns == composition.time_ns) composition.rows.push_back(&row);
    }
    for (const auto& entry : last) {
      const std::uint64_t end = profile_.processes[entry.first.value].end_ns;
      if (end == 0 || end > until_ns_) chosen_.insert(entry);
    }
    if (!chosen_.empty() || last.empty()) return;
    chosen_.insert(*std::max_element(last.begin(), last.end(), [](const auto& a, const auto& b) {
      return a.second.time_ns < b.second.time_ns;
    }));
  }

  void add_heap_facts(ProcessId process) {
    for (std::size_t i = 0; i < profile_.heap.heaps.size(); ++i) {
      const Heap& heap = profile_.heap.heaps[i];
      if (heap.process != process) continue;
      breakdown_.traced = true;
      from_start_ = from_start_ && heap.from_start;
    }
  }

  void add(const MemoryRange& row) {
    breakdown_.rss += row.rss_bytes;
    breakdown_.anonymous += row.anonymous_bytes;
    const std::uint64_t rest = row.rss_bytes - row.anonymous_bytes;
    (row.kind == MemoryKind::kShared || row.kind == MemoryKind::kTracer ? breakdown_.shared
                                                                        : breakdown_.file) += rest;
    breakdown_.swap += row.swap_bytes;
    breakdown_.virtual_bytes += row.virtual_bytes;
    (row.kind == MemoryKind::kHugeFile ? breakdown_.huge_file : breakdown_.huge) +=
        row.kind == MemoryKind::kHugeFile ? row.huge_bytes : std::min(row.huge_bytes, row.anonymous_bytes);
    breakdown_.live_blocks += row.live_blocks;
    breakdown_.live_bytes += row.live_bytes;
    live_.value += row.live_resident_bytes;
    live_.variance += row.live_resident_variance;
    breakdown_.live_is_bound = breakdown_.live_is_bound || row.live_is_bound;
    breakdown_.split = breakdown_.split && row.kind != MemoryKind::kNotSplit;
    breakdown_.mappings_traced = breakdown_.mappings_traced || row.kind == MemoryKind::kMapped;
    breakdown_.shared_out = breakdown_.shared_out || row.shared_out;
    by_kind_[row.kind] += row.anonymous_bytes;
    ranges_of_[row.kind] += row.ranges;
    rest_of_[row.kind] += rest;

    MemoryRangeRow& to = ranges_[{row.kind, row.name, row.allocator}];
    to.kind = to_string(row.kind);
    to.name = profile_.strings[row.name];
    if (row.allocator.value != 0)
      to.allocator = profile_.strings[profile_.heap.allocators[row.allocator.value].label];
    to.ranges += row.ranges;
    to.virtual_bytes += row.virtual_bytes;
    to.rss_bytes += row.rss_bytes;
    to.anonymous_bytes += row.anonymous_bytes;
    to.swap_bytes += row.swap_bytes;
    to.huge_bytes += row.huge_bytes;
    to.live_blocks += row.live_blocks;
    to.live_bytes += row.live_bytes;
    to.live_resident.add({row.live_resident_bytes, row.live_resident_variance});
  }

  // What could have been blocks when the recording began.
  void bound_earlier(ProcessId process, const Composition& composition) {
    if (!breakdown_.traced || from_start_) return;
    const Composition& first = first_[process];
    double bytes = 0;
    if (first.time_ns < composition.time_ns) {
      for (const MemoryRange* row : first.rows)
        if (is_of_allocators(row->kind) || row->kind == MemoryKind::kUnknown)
          bytes += std::max(0.0, static_cast<double>(row->rss_bytes) - row->live_resident_bytes);
    } else {
      for (const Heap& heap : profile_.heap.heaps)
        if (heap.process == process) bytes = std::max(bytes, static_cast<double>(heap.earlier_rss_bytes));
    }
    // What was free then was in no block.
    const std::int32_t pid = profile_.processes[process.value].pid;
    if (const auto free = model::free_before_of(pid, profile_.meta.facts))
      bytes = std::max(0.0, bytes - static_cast<double>(free->bytes));
    breakdown_.earlier_at_most = breakdown_.earlier_at_most.value_or(0) + bytes;
  }

  void add_sharing(ProcessId process, std::uint64_t time_ns) {
    Sharing sum = breakdown_.sharing.value_or(Sharing{});
    for (const auto& [name, member] : {std::pair("memory.private_clean", &Sharing::private_clean),
                                       std::pair("memory.private_dirty", &Sharing::private_dirty),
                                       std::pair("memory.shared_clean", &Sharing::shared_clean),
                                       std::pair("memory.shared_dirty", &Sharing::shared_dirty),
                                       std::pair("memory.pss", &Sharing::proportional)}) {
      const auto value = series_at(name, process, time_ns, kLongestSinceSharing);
      if (!value) return;
      sum.*member += *value;
    }
    breakdown_.sharing = sum;
    ++shared_of_;
  }

  // The value nearest to that time, and not farther from it than `within_ns`.
  std::optional<double> series_at(std::string_view name, ProcessId process, std::uint64_t time_ns,
                                  std::uint64_t within_ns = UINT64_MAX - 1) const {
    const std::int32_t pid = profile_.processes[process.value].pid;
    std::optional<double> value;
    std::uint64_t nearest = within_ns + 1;
    for (const Series& series : profile_.series) {
      if (series.pid != pid || profile_.strings[series.name] != name) continue;
      for (const Point& point : series.points) {
        const std::uint64_t distance =
            point.time_ns > time_ns ? point.time_ns - time_ns : time_ns - point.time_ns;
        if (distance >= nearest) continue;
        nearest = distance;
        value = point.value;
      }
    }
    return value;
  }

  void set_time(ProcessId process, std::uint64_t time_ns) {
    const std::uint64_t start = profile_.meta.start_ns, end = profile_.processes[process.value].end_ns;
    breakdown_.at_s =
        std::max(breakdown_.at_s, time_ns > start ? static_cast<double>(time_ns - start) * 1e-9 : 0.0);
    if (end > time_ns && end <= profile_.meta.end_ns)
      breakdown_.to_end_s = static_cast<double>(end - time_ns) * 1e-9;
  }

  // Blocks that were not sampled live in memory that shows no block: what is estimated to live may be more
  // than what is known to be allocators', and is then taken from the unknown.
  void split_anonymous() {
    const auto of = [&](MemoryKind kind) { return static_cast<double>(by_kind_[kind]); };
    const double held = of(MemoryKind::kAllocator) + of(MemoryKind::kBreak);
    const double unknown = of(MemoryKind::kUnknown);
    breakdown_.overestimated = std::max(0.0, live_.value - held - unknown);
    live_.value -= breakdown_.overestimated;
    const double beyond = std::max(0.0, live_.value - held);
    const double slack = std::max(0.0, held - live_.value);
    if (breakdown_.earlier_at_most)
      breakdown_.earlier_at_most = std::min(*breakdown_.earlier_at_most, slack + unknown - beyond);

    const auto part = [&](std::string_view key, HeapAmount bytes, bool anonymous, std::uint64_t ranges = 0) {
      if (bytes.value > 0) breakdown_.parts.push_back({key, bytes, anonymous, ranges});
    };
    const HeapAmount mapped{of(MemoryKind::kMapped), 0};
    part("live", live_, true);
    part("slack", {slack, live_.variance}, true,
         ranges_of_[MemoryKind::kAllocator] + ranges_of_[MemoryKind::kBreak]);
    part("mapped", mapped, true, ranges_of_[MemoryKind::kMapped]);
    part("thread-stacks", {of(MemoryKind::kThreadStack), 0}, true, ranges_of_[MemoryKind::kThreadStack]);
    part("main-stack", {of(MemoryKind::kMainStack), 0}, true);
    part("file-data", {of(MemoryKind::kFileData), 0}, true, ranges_of_[MemoryKind::kFileData]);
    part("tracer", {of(MemoryKind::kTracer), 0}, true, ranges_of_[MemoryKind::kTracer]);
    part("not-split", {of(MemoryKind::kNotSplit), 0}, true);
    double rest = unknown - beyond;
    for (const MemoryKind kind :
         {MemoryKind::kFile, MemoryKind::kShared, MemoryKind::kKernel, MemoryKind::kHugeFile})
      rest += of(kind);
    part("unknown", {rest, 0}, true, ranges_of_[MemoryKind::kUnknown]);
    stable_sort_rows(breakdown_.parts.begin(), breakdown_.parts.end(),
                     [](const MemoryPart& a, const MemoryPart& b) { return a.bytes.value > b.bytes.value; });
    const auto beside = [&](MemoryKind kind) { return HeapAmount{static_cast<double>(rest_of_[kind]), 0}; };
    HeapAmount files{static_cast<double>(breakdown_.file), 0};
    files.value -= beside(MemoryKind::kKernel).value;
    part("files", files, false, ranges_of_[MemoryKind::kFile]);
    part("shared", beside(MemoryKind::kShared), false, ranges_of_[MemoryKind::kShared]);
    part("tracer-shared", beside(MemoryKind::kTracer), false);
    part("kernel", beside(MemoryKind::kKernel), false);

    // No known block lies in it; where nothing is traced that is true of the traced ones' memory, too.
    if (!unseen_allocators(profile_).empty())
      breakdown_.unseen_at_most = breakdown_.part("unknown") + breakdown_.part("not-split") +
                                  (traced_allocators(profile_).empty() ? breakdown_.part("slack") : 0);
    breakdown_.explained = live_;
    breakdown_.explained.add(mapped);
    const auto anonymous = static_cast<double>(breakdown_.anonymous);
    if (anonymous <= 0) return;
    const auto share = [&](double bytes) { return std::clamp(bytes / anonymous, 0.0, 1.0); };
    const double error = breakdown_.explained.error();
    breakdown_.coverage = share(breakdown_.explained.value);
    breakdown_.coverage_low = share(breakdown_.explained.value - error);
    breakdown_.coverage_high = share(breakdown_.explained.value + error);
  }

  // Known for the blocks that are live at the end of the recording, touched or not: at most what allocators
  // hold beyond their live blocks.
  void measure_rounding() {
    if (selection_.to_ns || profile_.heap.uses.empty()) return;
    std::vector<double> live(profile_.heap.sites.size());
    for (const HeapRow& row : profile_.heap.all_rows())
      live[row.site.value] += row.allocated.bytes - row.freed.bytes;
    double rounding = 0;
    for (const HeapUse& use : profile_.heap.uses) {
      const ProcessId process = profile_.heap.heaps[profile_.heap.sites[use.site.value].heap.value].process;
      if (use.live_usable > 0 && chosen_.count(process) != 0)
        rounding += std::max(0.0, use.live_usable - std::max(0.0, live[use.site.value]));
    }
    if (rounding > 0) breakdown_.rounding = std::min(rounding, breakdown_.part("slack"));
  }

  void sort_ranges() {
    for (auto& entry : ranges_) breakdown_.ranges.push_back(std::move(entry.second));
    stable_sort_rows(breakdown_.ranges.begin(), breakdown_.ranges.end(),
                     [](const MemoryRangeRow& a, const MemoryRangeRow& b) {
                       return a.rss_bytes != b.rss_bytes ? a.rss_bytes > b.rss_bytes
                                                         : a.virtual_bytes > b.virtual_bytes;
                     });
  }

  const Profile& profile_;
  const Selection& selection_;
  std::uint64_t until_ns_;
  std::map<ProcessId, Composition> first_, chosen_;
  std::uint64_t shared_of_ = 0;  // processes in breakdown_.sharing
  RssBreakdown breakdown_;
  HeapAmount live_;
  bool from_start_ = true;
  std::map<MemoryKind, std::uint64_t> by_kind_, ranges_of_, rest_of_;
  std::map<std::tuple<MemoryKind, StringId, HeapAllocatorId>, MemoryRangeRow> ranges_;
};

}  // namespace

std::optional<RssBreakdown> make_rss_breakdown(const Profile& profile, const Selection& selection) {
  return Maker(profile, selection).make();
}

double RssBreakdown::part(std::string_view key) const {
  for (const MemoryPart& part : parts)
    if (part.key == key) return part.bytes.value;
  return 0;
}

std::string_view to_string(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kUnknown:
      return "unknown";
    case MemoryKind::kFile:
      return "file";
    case MemoryKind::kFileData:
      return "file-data";
    case MemoryKind::kShared:
      return "shared";
    case MemoryKind::kAllocator:
      return "allocator";
    case MemoryKind::kBreak:
      return "brk";
    case MemoryKind::kMapped:
      return "mapped";
    case MemoryKind::kMainStack:
      return "main-stack";
    case MemoryKind::kThreadStack:
      return "thread-stack";
    case MemoryKind::kTracer:
      return "tracer";
    case MemoryKind::kKernel:
      return "kernel";
    case MemoryKind::kHugeFile:
      return "huge-file";
    case MemoryKind::kNotSplit:
      return "not-split";
  }
  return "unknown";
}

}  // namespace fathom::analysis
