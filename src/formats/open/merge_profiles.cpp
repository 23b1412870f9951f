#include "formats/open/merge_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "model/event_samples.h"
#include "model/facts.h"
#include "model/recorded_time.h"

namespace fathom::open {
namespace {

using model::Profile;

// Without a reboot, clocks of one machine differ only by corrections of the time of day.
constexpr std::int64_t kSameClockNs = 2'000'000'000;

model::ImportFacts imported(const Profile& profile) {
  return model::facts_of<model::ImportFacts>(profile.meta);
}

bool has_cpu(const Profile& profile) {
  return std::ranges::any_of(
      profile.samples, [](const model::Sample& sample) { return sample.metric == model::Metric::kCpu; });
}

// Only the content counts, because files may be copies of each other.
bool same_recording(const Profile& a, const Profile& b) {
  return a.meta.start_ns == b.meta.start_ns && a.meta.end_ns == b.meta.end_ns &&
         a.meta.start_unix_ns == b.meta.start_unix_ns && a.samples == b.samples && a.waits == b.waits &&
         a.heap == b.heap && a.stacks == b.stacks && a.strings == b.strings;
}

Result<> refuse_twins(const std::vector<MergeInput>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (same_recording(inputs[i].profile, inputs[k].profile))
        return fail(ErrorKind::kUsage,
                    fmt::format("{} and {} are the same recording, which would count twice", inputs[k].name,
                                inputs[i].name),
                    "each recording once");
  return {};
}

// Brings CPU samples to one unit, if that is possible.
class CpuUnit {
 public:
  explicit CpuUnit(std::vector<MergeInput>& inputs) : inputs_(inputs) {}

  Result<> make_one(std::vector<std::string>& notes) {
    const MergeInput* first = nullptr;
    bool equal = true;
    for (const MergeInput& input : inputs_) {
      if (!has_cpu(input.profile)) continue;
      if (first == nullptr) first = &input;
      equal = equal && unit(input.profile) == unit(first->profile) &&
              input.profile.meta.frequency_hz == first->profile.meta.frequency_hz;
    }
    if (first == nullptr) return {};
    if (!equal) {
      if (const Result<> times = make_times(*first); !times) return times;
      notes.push_back("Samples at different rates were turned into CPU times.");
    }
    // Facts are joined, and the first one wins, even if it is from a recording without CPU samples.
    const std::string one = unit(first->profile);
    const std::uint32_t rate = first->profile.meta.frequency_hz;
    for (MergeInput& input : inputs_) {
      model::ImportFacts facts = imported(input.profile);
      facts.unit = one == "samples" ? "" : one;
      model::replace_facts(facts, input.profile.meta);
      input.profile.meta.frequency_hz = rate;
    }
    return {};
  }

 private:
  static std::string unit(const Profile& profile) {
    const std::string counted = imported(profile).unit;
    return counted.empty() ? "samples" : counted;
  }
  // ns per sample; 0: unknown.
  static double period_ns(const Profile& profile) {
    if (unit(profile) == "ns") return 1;
    return unit(profile) != "samples" || profile.meta.frequency_hz == 0 ? 0 : 1e9 / profile.meta.frequency_hz;
  }

  Result<> make_times(const MergeInput& first) {
    for (MergeInput& input : inputs_) {
      if (!has_cpu(input.profile)) continue;
      const double period = period_ns(input.profile);
      if (period == 0)
        return fail(ErrorKind::kUsage,
                    &input == &first ? fmt::format("{} counts {} without times, and others count differently",
                                                   input.name, unit(input.profile))
                                     : fmt::format("{} counts {} without times, and {} counts differently",
                                                   input.name, unit(input.profile), first.name),
                    "recordings of one kind");
      double sum = 0;
      std::int64_t written = 0;
      for (model::Sample& sample : input.profile.samples) {
        if (sample.metric != model::Metric::kCpu || period == 1) continue;
        // Rounding the running sum instead of each sample keeps the total right.
        sum += static_cast<double>(sample.value) * period;
        const std::int64_t whole = std::llround(std::clamp(sum, -4e18, 4e18));
        sample.value = whole - written;
        written = whole;
      }
      model::put_facts(model::ImportFacts{.unit = "ns"}, input.profile.meta);
      input.profile.meta.frequency_hz = 0;
    }
    return {};
  }

  std::vector<MergeInput>& inputs_;
};

Result<> check_heaps(const std::vector<MergeInput>& inputs) {
  const MergeInput* first = nullptr;
  for (const MergeInput& input : inputs) {
    if (input.profile.heap.empty()) continue;
    if (first == nullptr) first = &input;
    const model::ImportFacts a = imported(first->profile), b = imported(input.profile);
    if (a.heap_source != b.heap_source || a.no_allocated != b.no_allocated)
      return fail(
          ErrorKind::kUsage,
          fmt::format(
              "the heap of {} is that of a dump and the one of {} is not: they count different things",
              b.heap_source.empty() ? first->name : input.name,
              b.heap_source.empty() ? input.name : first->name),
          "fathom diff BASE NEW, or recordings of one kind");
  }
  return {};
}

// Moves all times of a profile. 0 means no time and stays.
class Shift {
 public:
  explicit Shift(std::int64_t by) : by_(by) {}

  void move(Profile& profile) const {
    if (by_ == 0) return;
    model::Meta& meta = profile.meta;
    for (std::uint64_t* time : {&meta.start_ns, &meta.end_ns}) at(*time);
    for (model::Process& row : profile.processes) at(row.start_ns), at(row.end_ns);
    for (model::Thread& row : profile.threads) at(row.start_ns), at(row.end_ns);
    for (model::Sample& row : profile.samples) at(row.time_ns);
    for (model::Wait& row : profile.waits) {
      at(row.start_ns);
      row.waited_ns = std::min(row.waited_ns, UINT64_MAX - row.start_ns);
      row.queued_ns = std::min(row.queued_ns, UINT64_MAX - row.start_ns - row.waited_ns);
    }
    for (model::Fault& row : profile.faults) at(row.time_ns);
    for (model::Calls& row : profile.calls) at(row.time_ns);
    for (model::Span& row : profile.spans) at(row.start_ns), at(row.end_ns);
    model::HeapTables& heap = profile.heap;
    for (model::Heap& row : heap.heaps) at(row.start_ns), at(row.end_ns), at(row.peak_ns);
    for (model::HeapOutage& row : heap.outages) at(row.start_ns), at(row.end_ns);
    for (model::HeapSlice& row : heap.slices) at(row.start_ns), at(row.end_ns), at(row.peak_ns);
    for (model::HeapBlock& row : heap.blocks) at(row.allocated_ns);
    for (model::MemoryRange& row : profile.memory_ranges) at(row.time_ns);
    for (model::Series& row : profile.series)
      for (model::Point& point : row.points) at(point.time_ns);
  }

 private:
  void at(std::uint64_t& time) const {
    if (time == 0) return;
    const auto distance = by_ < 0 ? ~static_cast<std::uint64_t>(by_) + 1 : static_cast<std::uint64_t>(by_);
    if (by_ < 0)
      time = time > distance ? time - distance : 1;
    else
      time = time > UINT64_MAX - distance ? UINT64_MAX : time + distance;
  }
  std::int64_t by_;
};

// The offset from a recording's clock to the time of day.
std::optional<std::int64_t> clock_of(const Profile& profile) {
  const model::Meta& meta = profile.meta;
  if (meta.start_unix_ns == 0 || meta.start_ns == 0 || meta.start_unix_ns > std::uint64_t{1} << 62 ||
      meta.start_ns > std::uint64_t{1} << 62)
    return std::nullopt;
  return static_cast<std::int64_t>(meta.start_unix_ns) - static_cast<std::int64_t>(meta.start_ns);
}

void bring_to_one_clock(std::vector<MergeInput>& inputs, std::vector<std::string>& notes) {
  // The earliest, so that no time falls below 0.
  std::optional<std::int64_t> earliest;
  for (const MergeInput& input : inputs)
    if (const auto clock = clock_of(input.profile)) earliest = std::min(earliest.value_or(*clock), *clock);
  bool other_clocks = false;
  std::optional<std::uint64_t> begin;
  for (MergeInput& input : inputs) {
    const auto clock = clock_of(input.profile);
    if (!clock) continue;
    const std::int64_t behind = *clock - *earliest;
    if (behind > kSameClockNs) {
      Shift(behind).move(input.profile);
      other_clocks = true;
    }
    if (!begin) begin = input.profile.meta.start_ns;
  }
  if (other_clocks)
    notes.push_back(
        "The recordings use different clocks (different machines, or a restart in between), so they are aligned by the time of day.");
  std::vector<std::string> beside;
  for (MergeInput& input : inputs) {
    model::Meta& meta = input.profile.meta;
    if (clock_of(input.profile) || meta.start_ns == 0) continue;
    if (!begin) begin = meta.start_ns;
    if (meta.start_ns == *begin) continue;
    Shift(static_cast<std::int64_t>(*begin - meta.start_ns)).move(input.profile);
    beside.push_back(input.name);
  }
  if (!beside.empty())
    notes.push_back(
        fmt::format("The time of day of {} is not known: it begins where the first recording does.",
                    fmt::join(beside, ", ")));
}

// Two recordings of one program at the same time contain that time twice.
void note_overlaps(const std::vector<MergeInput>& inputs, std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const Profile &a = inputs[k].profile, &b = inputs[i].profile;
      if (!clock_of(a) || !clock_of(b) ||
          model::facts_of<model::OriginFacts>(a.meta).host !=
              model::facts_of<model::OriginFacts>(b.meta).host)
        continue;
      if (a.meta.start_ns >= b.meta.end_ns || b.meta.start_ns >= a.meta.end_ns) continue;
      std::set<std::int32_t> pids;
      for (const model::Process& process : a.processes) pids.insert(process.pid);
      for (const model::Process& process : b.processes)
        if (process.pid != 0 && pids.contains(process.pid)) {
          notes.push_back(fmt::format(
              "{} and {} overlap in time and both contain process {}: what both recorded counts twice.",
              inputs[k].name, inputs[i].name, process.pid));
          break;
        }
    }
  }
}

std::string target_of(const std::vector<MergeInput>& inputs) {
  constexpr std::size_t kMostNames = 4;
  std::set<std::string> targets;
  for (const MergeInput& input : inputs) targets.insert(input.profile.meta.target);
  std::vector<std::string> names(targets.begin(), targets.end());
  if (names.size() == 1)
    return inputs.size() == 1 ? names[0] : fmt::format("{} ({} recordings)", names[0], inputs.size());
  const std::size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

void sort_by_time(Profile& profile) {
  std::ranges::stable_sort(profile.samples, {}, &model::Sample::time_ns);
  std::ranges::stable_sort(profile.waits, {}, &model::Wait::start_ns);
  std::ranges::stable_sort(profile.faults, {}, &model::Fault::time_ns);
  std::ranges::stable_sort(profile.calls, {}, &model::Calls::time_ns);
  std::ranges::stable_sort(profile.spans, {}, &model::Span::start_ns);
  std::ranges::stable_sort(profile.memory_ranges, {}, &model::MemoryRange::time_ns);
  for (model::Series& series : profile.series)
    std::ranges::stable_sort(series.points, {}, &model::Point::time_ns);
}

// Time between the recordings is not recorded time of the merged one.
std::uint64_t unrecorded_between(const std::vector<MergeInput>& inputs) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals;
  std::uint64_t inside = 0;
  for (const MergeInput& input : inputs) {
    const model::Meta& meta = input.profile.meta;
    if (meta.start_ns == 0) continue;
    intervals.emplace_back(meta.start_ns, meta.end_ns);
    inside += model::unrecorded_ns(meta);
  }
  return model::gaps_between(std::move(intervals)) + inside;
}

// The sums of each event of `record -e`. An event that was counted in two units has a row for each.
std::string joined_events_fact(std::vector<model::RecordedEvent> all,
                               const std::vector<model::RecordedEvent>& more) {
  const auto add = [](auto& sum, auto part) {
    if (__builtin_add_overflow(sum, part, &sum))
      sum = std::numeric_limits<std::decay_t<decltype(sum)>>::max();
  };
  for (const model::RecordedEvent& event : more) {
    const auto known = std::ranges::find_if(all, [&](const model::RecordedEvent& row) {
      return row.name == event.name && row.unit == event.unit;
    });
    if (known == all.end()) {
      all.push_back(event);
      continue;
    }
    add(known->count, event.count);
    add(known->value, event.value);
    add(known->samples, event.samples);
    add(known->lost, event.lost);
  }
  return model::events_fact(all);
}

}  // namespace

Result<Merged> merge_profiles(std::vector<MergeInput> inputs) {
  Merged merged;
  if (const Result<> twins = refuse_twins(inputs); !twins) return tl::unexpected(twins.error());
  if (const Result<> heaps = check_heaps(inputs); !heaps) return tl::unexpected(heaps.error());
  if (const Result<> unit = CpuUnit(inputs).make_one(merged.notes); !unit)
    return tl::unexpected(unit.error());
  bring_to_one_clock(inputs, merged.notes);
  note_overlaps(inputs, merged.notes);
  const std::string target = target_of(inputs);
  const std::uint64_t unrecorded = unrecorded_between(inputs);
  bool lives = false;
  std::string engine;
  for (MergeInput& input : inputs) {
    for (model::Heap& heap : input.profile.heap.heaps) {
      lives = lives || heap.each_block;
      heap.each_block = false;  // sums are kept, but not the lifetime of each block
    }
    if (engine.empty() || engine == "import") engine = input.profile.meta.engine;
    const auto events = model::recorded_events(merged.profile.meta),
               more = model::recorded_events(input.profile.meta);
    model::merge(merged.profile, input.profile);
    if (!events.empty() && !more.empty())
      merged.profile.meta.facts[model::kEventsFact] = joined_events_fact(events, more);
    input.profile = {};
  }
  if (lives)
    merged.notes.push_back(
        "The lives of single blocks are not in it: they are in the recordings that were merged.");
  sort_by_time(merged.profile);
  model::Meta& meta = merged.profile.meta;
  meta.target = target;
  meta.engine = engine;
  auto sampling = model::facts_of<model::SamplingFacts>(meta);
  sampling.unrecorded_ns = unrecorded != 0 ? std::optional(unrecorded) : std::nullopt;
  model::replace_facts(sampling, meta);
  model::put_facts(model::ImportFacts{.merged = inputs.size()}, meta);
  for (const std::string& note : merged.notes) merged.profile.quality.notes.push_back(note);
  if (const Result<> sound = model::check(merged.profile); !sound) return tl::unexpected(sound.error());
  return merged;
}

}  // namespace fathom::open
