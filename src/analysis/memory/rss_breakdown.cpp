#include "analysis/memory/rss_breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

using namespace model;

// The rows of one process at one moment.
struct Composition {
  std::uint64_t time_ns = 0;
  std::vector<const MemoryRange*> rows;
};

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
      if (const auto value = series_at("memory.page_tables", process, composition.time_ns))
        breakdown_.page_tables = breakdown_.page_tables.value_or(0) + *value;
      if (const auto value = series_at("cgroup.memory", process, composition.time_ns))
        breakdown_.cgroup = std::max(breakdown_.cgroup.value_or(0), *value);
      set_time(process, composition.time_ns);
    }
    split_anonymous();
    measure_rounding();
    sort_ranges();
    summarize();
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
    breakdown_.earlier_at_most = breakdown_.earlier_at_most.value_or(0) + bytes;
  }

  std::optional<double> series_at(std::string_view name, ProcessId process, std::uint64_t time_ns) const {
    const std::int32_t pid = profile_.processes[process.value].pid;
    std::optional<double> value;
    std::uint64_t nearest = UINT64_MAX;
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
    live_.value = std::min(live_.value, held + unknown);
    const double beyond = std::max(0.0, live_.value - held);
    const double slack = std::max(0.0, held - live_.value);
    if (breakdown_.earlier_at_most)
      breakdown_.earlier_at_most = std::min(*breakdown_.earlier_at_most, slack + unknown - beyond);

    const auto part = [&](std::string_view key, std::string_view label, HeapAmount bytes, bool anonymous,
                          std::uint64_t ranges = 0) {
      if (bytes.value > 0) breakdown_.parts.push_back({key, label, bytes, anonymous, ranges});
    };
    const HeapAmount mapped{of(MemoryKind::kMapped), 0};
    part("live", "live blocks of allocators", live_, true);
    part("slack",
         breakdown_.traced ? "allocators, beyond live blocks" : "allocators (the heap was not traced)",
         {slack, live_.variance}, true, ranges_of_[MemoryKind::kAllocator] + ranges_of_[MemoryKind::kBreak]);
    part("mapped", "mapped by the program itself", mapped, true, ranges_of_[MemoryKind::kMapped]);
    part("thread-stacks", "stacks of threads", {of(MemoryKind::kThreadStack), 0}, true,
         ranges_of_[MemoryKind::kThreadStack]);
    part("main-stack", "stack of the first thread", {of(MemoryKind::kMainStack), 0}, true);
    part("file-data", "data segments of files", {of(MemoryKind::kFileData), 0}, true,
         ranges_of_[MemoryKind::kFileData]);
    part("tracer", "fathom's tracer", {of(MemoryKind::kTracer), 0}, true, ranges_of_[MemoryKind::kTracer]);
    part("not-split", "anonymous, not split", {of(MemoryKind::kNotSplit), 0}, true);
    double rest = unknown - beyond;
    for (const MemoryKind kind :
         {MemoryKind::kFile, MemoryKind::kShared, MemoryKind::kKernel, MemoryKind::kHugeFile})
      rest += of(kind);
    part("unknown", "anonymous, of nobody that is known", {rest, 0}, true, ranges_of_[MemoryKind::kUnknown]);
    std::stable_sort(breakdown_.parts.begin(), breakdown_.parts.end(),
                     [](const MemoryPart& a, const MemoryPart& b) { return a.bytes.value > b.bytes.value; });
    const auto beside = [&](MemoryKind kind) { return HeapAmount{static_cast<double>(rest_of_[kind]), 0}; };
    HeapAmount files{static_cast<double>(breakdown_.file), 0};
    files.value -= beside(MemoryKind::kKernel).value;
    part("files", "pages of files", files, false, ranges_of_[MemoryKind::kFile]);
    part("shared", "shared memory", beside(MemoryKind::kShared), false, ranges_of_[MemoryKind::kShared]);
    part("tracer-shared", "fathom's tracer, shared with the profiler", beside(MemoryKind::kTracer), false);
    part("kernel", "of the kernel (vdso)", beside(MemoryKind::kKernel), false);

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
    for (const HeapRow& row : profile_.heap.rows)
      live[row.site.value] += row.allocated.bytes - row.freed.bytes;
    double rounding = 0;
    for (const HeapUse& use : profile_.heap.uses) {
      const ProcessId process = profile_.heap.heaps[profile_.heap.sites[use.site.value].heap.value].process;
      if (use.live_usable > 0 && chosen_.count(process) != 0)
        rounding += std::max(0.0, use.live_usable - std::max(0.0, live[use.site.value]));
    }
    if (rounding > 0) breakdown_.rounding = std::min(rounding, part("slack"));
  }

  void sort_ranges() {
    for (auto& entry : ranges_) breakdown_.ranges.push_back(std::move(entry.second));
    std::stable_sort(breakdown_.ranges.begin(), breakdown_.ranges.end(),
                     [](const MemoryRangeRow& a, const MemoryRangeRow& b) {
                       return a.rss_bytes != b.rss_bytes ? a.rss_bytes > b.rss_bytes
                                                         : a.virtual_bytes > b.virtual_bytes;
                     });
  }

  double part(std::string_view key) const {
    for (const MemoryPart& part : breakdown_.parts)
      if (part.key == key) return part.bytes.value;
    return 0;
  }
  static std::string of(std::uint64_t value) { return bytes(static_cast<double>(value)); }
  static std::string with_error(const HeapAmount& amount) {
    return amount.variance <= 0 ? bytes(amount.value)
                                : fmt::format("{} ±{}", bytes(amount.value), bytes(amount.error()));
  }

  std::string moment() const {
    if (breakdown_.to_end_s) return seconds(*breakdown_.to_end_s) + " before the program ended";
    // A recorder that is not killed looks once more before it ends.
    if (!selection_.to_ns && !profile_.quality.truncated) return "at the end";
    return seconds(breakdown_.at_s) + " after the start";
  }

  std::string coverage_text() const {
    if (breakdown_.explained.variance <= 0) return percent(breakdown_.coverage);
    return fmt::format("{}, {} to {}", percent(breakdown_.coverage), percent_number(breakdown_.coverage_low),
                       percent(breakdown_.coverage_high));
  }

  void say_coverage() {
    std::string text =
        fmt::format("The heap profile explains {} ({}) of the {} of anonymous memory that were resident {}",
                    with_error(breakdown_.explained), coverage_text(), of(breakdown_.anonymous), moment());
    std::vector<std::string> rest;
    const auto add = [&](std::string_view key, std::string_view words) {
      if (const double value = part(key); value >= 0.005 * static_cast<double>(breakdown_.anonymous))
        rest.push_back(fmt::format("{} {}", bytes(value), words));
    };
    add("slack", "that allocators hold beyond live blocks");
    add("thread-stacks", "of stacks of threads");
    add("main-stack", "of the first thread's stack");
    add("file-data", "of data segments of files");
    add("tracer", "of fathom's own tracer");
    add("not-split", "that could not be told apart");
    add("unknown", "of nobody that is known");
    if (rest.empty()) {
      breakdown_.summary.push_back(text + ".");
      return;
    }
    text += "; the rest is ";
    for (std::size_t i = 0; i < rest.size(); ++i)
      text += (i == 0 ? "" : i + 1 == rest.size() ? " and " : ", ") + rest[i];
    breakdown_.summary.push_back(text + ".");
  }

  void summarize() {
    const auto say = [&](std::string sentence) { breakdown_.summary.push_back(std::move(sentence)); };
    const auto anonymous = static_cast<double>(breakdown_.anonymous);
    if (breakdown_.traced) {
      say_coverage();
      if (part("slack") > 0.05 * anonymous) {
        std::string text =
            breakdown_.rounding
                ? fmt::format(
                      "Of what allocators hold beyond live blocks, sizes rounded up are {} at most; the "
                      "rest was freed and is kept, or is their own tables.",
                      bytes(*breakdown_.rounding))
                : "What allocators hold beyond live blocks are sizes rounded up, memory that was freed and "
                  "is "
                  "kept, and their own tables; only their own statistics could tell these apart.";
        if (breakdown_.earlier_at_most && *breakdown_.earlier_at_most > 0)
          text += fmt::format(
              " Blocks from before the recording are in it, too, and in the unknown: {} at most, as no more "
              "was resident then.",
              bytes(*breakdown_.earlier_at_most));
        say(text);
      }
      const double away = breakdown_.live_bytes - live_.value;
      if (!breakdown_.live_is_bound && away > 0.05 * breakdown_.live_bytes && away > 2 * live_.error())
        say(
            fmt::format("{} of the live blocks take no memory: their pages were never touched, or are "
                        "swapped out.",
                        bytes(away)));
      if (breakdown_.live_is_bound)
        say("Which pages of the blocks are resident was not looked at everywhere; what is explained is at "
            "most so much.");
      if (breakdown_.shared_out)
        say("Memory in which two allocators have blocks is shared out in proportion to these.");
    }
    std::string text =
        fmt::format("RSS {} was {}: {} anonymous, {} of files, {} shared", moment(), of(breakdown_.rss),
                    of(breakdown_.anonymous), of(breakdown_.file), of(breakdown_.shared));
    std::string beside;
    const auto add = [&](double value, std::string_view words) {
      if (value > 0) beside += fmt::format("{}{} {}", beside.empty() ? "" : ", ", bytes(value), words);
    };
    add(breakdown_.page_tables.value_or(0), "of page tables");
    add(static_cast<double>(breakdown_.swap), "swapped out");
    add(static_cast<double>(breakdown_.huge_file), "on explicit huge pages");
    if (!beside.empty()) text += "; beside it " + beside;
    if (breakdown_.processes > 1)
      text += fmt::format(". That is the sum of {} processes: what they share counts in each",
                          breakdown_.processes);
    say(text + ".");
    if (static_cast<double>(breakdown_.huge) > 0.1 * anonymous)
      say(fmt::format("{} of the anonymous memory is on huge pages, which become resident 2 MiB at a time.",
                      of(breakdown_.huge)));
  }

  const Profile& profile_;
  const Selection& selection_;
  std::uint64_t until_ns_;
  std::map<ProcessId, Composition> first_, chosen_;
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
