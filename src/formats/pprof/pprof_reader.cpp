#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/stable_sort.h"
#include "base/text.h"
#include "formats/import/addresses.h"
#include "formats/import/import.h"
#include "formats/import/source_names.h"
#include "formats/pprof/meanings.h"
#include "formats/pprof/pprof.h"
#include "model/exact_count.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

using Meaning = PprofMeaning;
using model::Metric;

constexpr std::string_view kNoLabel = "(no label)";

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// The number of a thread or process in a label, which some write as text.
std::optional<std::int32_t> number_of(const PprofMessage::Label& label) {
  if (!label.is_text)
    return label.number >= 0 && label.number <= INT32_MAX
               ? std::optional(static_cast<std::int32_t>(label.number))
               : std::nullopt;
  std::int64_t value = 0;
  for (const char c : label.text) {
    if (c < '0' || c > '9' || value > INT32_MAX) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return label.text.empty() || value > INT32_MAX ? std::nullopt
                                                 : std::optional(static_cast<std::int32_t>(value));
}

class Reader {
 public:
  Reader(const PprofMessage& message, const std::string& name) : message_(message), name_(name) {}

  Result<model::Profile> read() {
    // The first of its meaning; a second one would count the same time twice.
    for (std::size_t i = 0; i < message_.types.size(); ++i) columns_.try_emplace(meaning_of_column(i), i);
    columns_.erase(Meaning::kOther);
    take_samples_for_time();
    choose();
    take_differences();
    begin();
    PprofMessage::Sample sample;
    for (std::size_t i = 0; i < message_.samples.size(); ++i) {
      const auto wrong = [&](std::string_view what) {
        return fail(ErrorKind::kMalformed,
                    fmt::format("{}: pprof profile: sample {}: {}", name_, i + 1, what));
      };
      if (!message_.sample_of(message_.samples[i], sample)) return wrong("its bytes are damaged");
      if (sample.values.size() != message_.types.size())
        return wrong(fmt::format("{} values, and the profile has {} kinds", sample.values.size(),
                                 message_.types.size()));
      if (const Result<> taken = take(sample); !taken) return tl::unexpected(taken.error());
    }
    end();
    return import_.finish(name_);
  }

 private:
  std::int64_t value_of(const PprofMessage::Sample& sample, Meaning meaning) const {
    const auto column = columns_.find(meaning);
    return column == columns_.end() ? 0 : shown(sample, column->second);
  }
  bool has(Meaning meaning) const { return columns_.contains(meaning); }
  std::int64_t ns_per_value(Meaning meaning) const {
    const std::size_t column = columns_.at(meaning);
    if (column == sampled_time_)
      return message_.period * nanoseconds_in(message_.period_type.unit).value_or(1);
    return nanoseconds_in(message_.types[column].unit).value_or(1);
  }

  Meaning meaning_of_period() const {
    return message_.period_type.type == "time"
               ? Meaning::kWallTime
               : meaning_of(message_.period_type.type, message_.period_type.unit);
  }
  // fgprof calls its times "time" and its period "wallclock".
  Meaning meaning_of_column(std::size_t i) const {
    const auto& [type, unit] = message_.types[i];
    if (type != "time" || !nanoseconds_in(unit)) return meaning_of(type, unit);
    const Meaning period = meaning_of_period();
    return period == Meaning::kCpuTime || period == Meaning::kOffCpuTime ? period : Meaning::kWallTime;
  }
  // Samples alone, each of which stands for a period that is no CPU time: they are that time.
  void take_samples_for_time() {
    const Meaning period = meaning_of_period();
    if (!has(Meaning::kSamples) || has(Meaning::kCpuTime) || has(Meaning::kWallTime) ||
        has(Meaning::kOffCpuTime))
      return;
    if (message_.period <= 0 || (period != Meaning::kWallTime && period != Meaning::kOffCpuTime)) return;
    constexpr std::int64_t kHour = 3'600'000'000'000;
    if (message_.period > kHour / *nanoseconds_in(message_.period_type.unit)) return;
    sampled_time_ = columns_.at(Meaning::kSamples);
    columns_.emplace(period, *sampled_time_);
  }

  std::int64_t bytes_per_value(Meaning meaning) const {
    const auto column = columns_.find(meaning);
    return column == columns_.end() ? 1 : bytes_in(message_.types[column->second].unit).value_or(1);
  }

  // Go's /debug/pprof/heap?seconds=30 and pprof -diff_base write differences, of which some amounts are less than nothing. Such an
  // amount has no share of anything: what grew is shown, and what fell is said.
  void take_differences() {
    struct Change {
      std::int64_t grew = 0, fell = 0;
    };
    std::vector<Change> changes(message_.types.size());
    PprofMessage::Sample sample;
    for (const std::string_view bytes : message_.samples) {
      if (!message_.sample_of(bytes, sample) || sample.values.size() != message_.types.size()) continue;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        const std::int64_t value = sample.values[i];
        std::int64_t& sum = value < 0 ? changes[i].fell : changes[i].grew;
        if (__builtin_add_overflow(sum, value, &sum)) sum = value < 0 ? INT64_MIN : INT64_MAX;
      }
    }
    for (const Change& change : changes) fell_.push_back(change.fell != 0);
    const auto fell = [&](Meaning meaning) { return has(meaning) && fell_[columns_.at(meaning)]; };
    using enum PprofMeaning;
    const bool allocated = has(kAllocatedBytes) && !fell(kAllocatedBytes) && !fell(kAllocatedObjects);
    if (allocated && (fell(kLiveObjects) || fell(kLiveBytes))) {
      // In addition to what was allocated in that time: a heap with both would have freed what is not there.
      const auto change = [&](Meaning meaning, std::string_view what) {
        if (!has(meaning)) return std::string();
        const Change& all = changes[columns_.at(meaning)];
        std::int64_t sum = 0;
        if (__builtin_add_overflow(all.grew, all.fell, &sum)) sum = INT64_MAX;
        return fmt::format("{}{} {}", sum > 0 ? "+" : "", sum, what);
      };
      const std::string objects = change(kLiveObjects, "objects");
      const std::string bytes =
          change(kLiveBytes, message_.types[has(kLiveBytes) ? columns_.at(kLiveBytes) : 0].unit);
      import_.note(fmt::format(
          "What was live changed by {}{}{} in all: the file is the difference of two moments, and what was allocated in between is shown.",
          bytes, bytes.empty() || objects.empty() ? "" : " in ", objects));
      columns_.erase(kLiveObjects);
      columns_.erase(kLiveBytes);
    }
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const bool is_shown = counted_ == i || std::ranges::any_of(columns_, [&](const auto& column) {
                              return column.second == i;
                            });
      if (!fell_[i] || !is_shown) continue;
      import_.note(fmt::format(
          "The file is the difference of two profiles: {} grew by {} {} in some places, which is shown, and fell by {} in others, which is left out.",
          message_.types[i].type, changes[i].grew, message_.types[i].unit,
          changes[i].fell == INT64_MIN ? INT64_MAX : -changes[i].fell));
    }
  }
  std::int64_t shown(const PprofMessage::Sample& sample, std::size_t column) const {
    const std::int64_t value = sample.values[column];
    return fell_[column] ? std::max<std::int64_t>(value, 0) : value;
  }

  // Which columns become what.
  void choose() {
    has_heap_ = has(Meaning::kAllocatedBytes) || has(Meaning::kLiveBytes) || has(Meaning::kPeakBytes);
    // Numbers of objects alone are of no size: they are shown as what they are.
    if (!has_heap_) std::erase_if(columns_, [](const auto& column) { return is_heap(column.first); });
    if (has(Meaning::kCpuTime) || has(Meaning::kSamples) || has(Meaning::kWallTime) ||
        has(Meaning::kOffCpuTime) || has_heap_)
      return;
    // Goroutines, or what a program counts by itself.
    counted_ = message_.types.size() - 1;
    for (std::size_t i = 0; i < message_.types.size(); ++i)
      if (!message_.default_type.empty() && message_.types[i].type == message_.default_type) counted_ = i;
  }

  void begin() {
    model::Meta& meta = import_.profile.meta;
    meta.start_ns = meta.end_ns = kImportStart;
    if (message_.duration_ns > 0 && message_.duration_ns < std::int64_t{1} << 60)
      meta.end_ns += static_cast<std::uint64_t>(message_.duration_ns);
    if (message_.time_unix_ns > 0) meta.start_unix_ns = static_cast<std::uint64_t>(message_.time_unix_ns);
    if (has(Meaning::kCpuTime)) set_cpu_unit();
    if (has(Meaning::kWallTime) && has(Meaning::kCpuTime)) wall_holds_cpu_ = wall_is_never_less();
    if (!has(Meaning::kCpuTime) && (has(Meaning::kWallTime) || has(Meaning::kOffCpuTime)))
      model::put_facts(model::ImportFacts{.unit = "ns"}, meta);
    if (counted_) {
      const std::string_view type = message_.types[*counted_].type;
      model::put_facts(model::ImportFacts{.unit = std::string(type.empty() ? "values" : type)}, meta);
      model::put_facts(model::ImportFacts{.counts_all = true}, meta);
    }
    if (has(Meaning::kCpuTime) ||
        (has(Meaning::kSamples) && !has(Meaning::kWallTime) && !has(Meaning::kOffCpuTime)))
      meta.event = "cpu";
    std::string program = message_.mappings.empty() ? "" : std::string(message_.mappings.front().path);
    program_ = program.empty() || program.front() == '[' ? "" : program;
    find_labels();
    if (has_heap_) begin_heap();
  }

  // Samples at a rate, where the file says as much; else every value is a time.
  void set_cpu_unit() {
    model::Meta& meta = import_.profile.meta;
    const std::int64_t scale = ns_per_value(Meaning::kCpuTime);
    const auto period = nanoseconds_in(message_.period_type.unit);
    // 997 times a second is a period of 1,003,009 ns, as periods are whole numbers.
    std::uint32_t frequency = 0;
    if (period && message_.period > 0 && message_.period <= 1'000'000'000 / *period) {
      const auto period_ns = static_cast<double>(message_.period * *period);
      const auto nearest = static_cast<std::uint32_t>(std::llround(1e9 / period_ns));
      if (std::llround(1e9 / nearest) == message_.period * *period) frequency = nearest;
    }
    const bool rate = has(Meaning::kSamples) && frequency != 0;
    PprofMessage::Sample sample;
    bool exact = rate;
    for (const std::string_view bytes : message_.samples) {
      if (!exact) break;
      std::int64_t time = 0, sum = 0;
      exact = message_.sample_of(bytes, sample) && sample.values.size() == message_.types.size() &&
              !__builtin_mul_overflow(value_of(sample, Meaning::kCpuTime), scale, &time) &&
              !__builtin_mul_overflow(value_of(sample, Meaning::kSamples), message_.period * *period, &sum) &&
              time == sum;
    }
    cpu_in_samples_ = exact;
    if (exact)
      meta.frequency_hz = frequency;
    else
      model::put_facts(model::ImportFacts{.unit = "ns"}, meta);
  }

  bool wall_is_never_less() const {
    PprofMessage::Sample sample;
    for (const std::string_view bytes : message_.samples) {
      std::int64_t wall = 0, cpu = 0;
      if (!message_.sample_of(bytes, sample) || sample.values.size() != message_.types.size()) continue;
      if (__builtin_mul_overflow(value_of(sample, Meaning::kWallTime), ns_per_value(Meaning::kWallTime),
                                 &wall) ||
          __builtin_mul_overflow(value_of(sample, Meaning::kCpuTime), ns_per_value(Meaning::kCpuTime),
                                 &cpu) ||
          cpu < 0 || wall < cpu)
        return false;
    }
    return true;
  }

  void find_labels() {
    PprofMessage::Sample sample;
    for (const std::string_view bytes : message_.samples) {
      if (!message_.sample_of(bytes, sample)) continue;
      for (const PprofMessage::Label& label : sample.labels) {
        const bool of_thread = is_one_of(label.key, {"thread", "thread_name", "thread name", "comm", "tid",
                                                     "thread_id", "thread id", "thread-id"});
        labels_of_threads_ = labels_of_threads_ || of_thread;
        has_labels_ = has_labels_ || of_thread || label.is_text;
      }
    }
  }

  void begin_heap() {
    model::Heap heap;
    heap.process = import_.process(0, program_);
    heap.from_start = true;
    heap.start_ns = heap.end_ns = kImportStart;
    // Amounts of sampled heaps are estimates already; from the period follows of how many samples.
    const bool sampled = message_.period > 1 && message_.period_type.unit == "bytes";
    heap.mode = sampled ? model::HeapMode::kSampled : model::HeapMode::kExact;
    if (sampled) heap.mean_bytes = static_cast<std::uint64_t>(message_.period);
    import_.profile.heap.heaps.push_back(heap);
    import_.profile.heap.slices.push_back({{0}, kImportStart, kImportStart, kImportStart, 0, 0, 0});
    model::Meta& meta = import_.profile.meta;
    if (!has(Meaning::kPeakBytes)) model::put_facts(model::ImportFacts{.heap_source = "dump"}, meta);
    if (!has(Meaning::kAllocatedBytes) && !has(Meaning::kAllocatedObjects))
      model::put_facts(model::ImportFacts{.no_allocated = true}, meta);
    if (!has(Meaning::kLiveBytes) && !has(Meaning::kLiveObjects))
      model::put_facts(model::ImportFacts{.no_live = true}, meta);
    for (const auto& [objects, bytes] : {std::pair(Meaning::kAllocatedObjects, Meaning::kAllocatedBytes),
                                         std::pair(Meaning::kLiveObjects, Meaning::kLiveBytes),
                                         std::pair(Meaning::kPeakObjects, Meaning::kPeakBytes)})
      if (has(bytes) && !has(objects)) {
        model::put_facts(model::ImportFacts{.no_block_counts = true}, meta);
        import_.note(
            fmt::format("The file does not record how many blocks {} was: each call site counts as one.",
                        message_.types[columns_.at(bytes)].type));
      }
  }

  Result<> take(const PprofMessage::Sample& sample) {
    const model::ThreadId thread = thread_of(sample);
    const model::StackId stack = stack_of(sample);
    const auto add = [&](Metric metric, std::int64_t value, std::int64_t scale) -> Result<> {
      if (value == 0) return {};
      model::Sample row;
      if (__builtin_mul_overflow(value, scale, &row.value))
        return fail(ErrorKind::kMalformed,
                    fmt::format("{}: pprof profile: a time of more than 292 years", name_));
      row.thread = thread;
      row.stack = stack;
      row.metric = metric;
      import_.profile.samples.push_back(row);
      return {};
    };
    Result<> added;
    if (counted_) added = add(Metric::kCpu, shown(sample, *counted_), 1);
    const std::int64_t count = value_of(sample, Meaning::kSamples);
    if (count > 0) samples_ += static_cast<std::uint64_t>(std::min(count, INT64_MAX / 2));
    if (has(Meaning::kCpuTime)) {
      added = cpu_in_samples_
                  ? add(Metric::kCpu, count, 1)
                  : add(Metric::kCpu, value_of(sample, Meaning::kCpuTime), ns_per_value(Meaning::kCpuTime));
    } else if (!has(Meaning::kWallTime) && !has(Meaning::kOffCpuTime) && !has_heap_) {
      if (has(Meaning::kSamples)) added = add(Metric::kCpu, count, 1);
    }
    if (added && has(Meaning::kWallTime)) {
      const std::int64_t wall = value_of(sample, Meaning::kWallTime),
                         scale = ns_per_value(Meaning::kWallTime);
      if (!has(Meaning::kCpuTime)) {
        added = add(Metric::kWall, wall, scale);
      } else if (wall_holds_cpu_) {
        // The metric wall is the CPU time and the time off the CPU, and these are parts of what the file says.
        added = add(Metric::kOffCpu,
                    wall * scale - value_of(sample, Meaning::kCpuTime) * ns_per_value(Meaning::kCpuTime), 1);
      }
    }
    if (added && has(Meaning::kOffCpuTime) && !(has(Meaning::kWallTime) && has(Meaning::kCpuTime)))
      added =
          add(Metric::kOffCpu, value_of(sample, Meaning::kOffCpuTime), ns_per_value(Meaning::kOffCpuTime));
    if (const std::int64_t waits = value_of(sample, Meaning::kWaits); waits > 0)
      waits_ += static_cast<std::uint64_t>(std::min(waits, INT64_MAX / 2));
    if (added && has_heap_) added = take_heap(sample, stack, thread);
    return added;
  }

  Result<> take_heap(const PprofMessage::Sample& sample, model::StackId stack, model::ThreadId thread) {
    const auto sum = [&](Meaning objects, Meaning bytes) {
      model::HeapSum amount{
          static_cast<double>(value_of(sample, objects)),
          static_cast<double>(value_of(sample, bytes)) * static_cast<double>(bytes_per_value(bytes))};
      if (amount.bytes > 0 && !has(objects)) amount.blocks = 1;
      return amount;
    };
    const model::HeapSum live = sum(Meaning::kLiveObjects, Meaning::kLiveBytes);
    const model::HeapSum counted = sum(Meaning::kAllocatedObjects, Meaning::kAllocatedBytes);
    model::HeapRow row;
    row.site = import_.site({0}, stack, has_labels_ ? thread : model::kNoThread);
    row.allocated = {std::max(counted.blocks, live.blocks), std::max(counted.bytes, live.bytes)};
    row.freed = {row.allocated.blocks - live.blocks, row.allocated.bytes - live.bytes};
    const model::HeapVariance all = variance_of(row.allocated), kept = variance_of(live);
    row.allocated_variance = {std::max(all.blocks, kept.blocks), std::max(all.bytes, kept.bytes)};
    row.freed_variance = {row.allocated_variance.blocks - kept.blocks,
                          row.allocated_variance.bytes - kept.bytes};
    import_.profile.heap.rows.push_back(row);
    model::HeapSlice& slice = import_.profile.heap.slices[0];
    slice.live_bytes += live.bytes;
    slice.live_blocks += live.blocks;
    const model::HeapSum peak = sum(Meaning::kPeakObjects, Meaning::kPeakBytes);
    if (peak != model::HeapSum{}) {
      peaks_[row.site.value].blocks += peak.blocks;
      peaks_[row.site.value].bytes += peak.bytes;
    }
    for (const PprofMessage::Label& label : sample.labels)
      if (label.key == "bytes" && !label.is_text && label.number > 0)
        add_size(row.site, static_cast<std::uint64_t>(label.number), row.allocated);
    return {};
  }

  void add_size(model::HeapSiteId site, std::uint64_t size, const model::HeapSum& sum) {
    model::HeapSum& bucket = sizes_[{site.value, static_cast<std::uint8_t>(std::bit_width(size))}];
    bucket.blocks += sum.blocks;
    bucket.bytes += sum.bytes;
  }

  // A block of `size` was sampled with p = 1 - exp(-size / mean), and each that was stands for 1 / p: of an estimate N the
  // variance is N (1 - p) / p.
  model::HeapVariance variance_of(const model::HeapSum& sum) const {
    const std::uint64_t mean = import_.profile.heap.heaps[0].mean_bytes;
    if (mean == 0 || sum.blocks <= 0 || sum.bytes <= 0) return {};
    const double size = sum.bytes / sum.blocks;
    const double p = -std::expm1(-size / static_cast<double>(mean));
    if (p <= 0) return {};
    const double blocks = sum.blocks * (1 - p) / p;
    return {blocks, blocks * size * size};
  }

  model::ThreadId thread_of(const PprofMessage::Sample& sample) {
    std::int32_t pid = 0, tid = 0;
    std::string name;
    std::vector<std::string> others;
    for (const PprofMessage::Label& label : sample.labels) {
      if (is_one_of(label.key, {"pid", "process_id", "process id"}))
        pid = number_of(label).value_or(0);
      else if (is_one_of(label.key, {"tid", "thread_id", "thread id", "thread-id"}))
        tid = number_of(label).value_or(0);
      else if (label.is_text && is_one_of(label.key, {"thread", "thread_name", "thread name", "comm"}))
        name = label.text;
      else if (label.is_text && !labels_of_threads_)
        others.push_back(fmt::format("{}={}", label.key, label.text));
    }
    std::ranges::sort(others);
    if (!labels_of_threads_ && has_labels_)
      name = others.empty() ? std::string(kNoLabel) : fmt::format("{}", fmt::join(others, " "));
    if (name.empty()) name = base_name(program_.empty() ? name_ : program_);
    return import_.thread(import_.process(pid, program_), tid, name);
  }

  model::StackId stack_of(const PprofMessage::Sample& sample) {
    model::StackId stack{0};
    for (std::size_t i = sample.location_ids.size(); i-- > 0;)
      stack = import_.builder.stack(stack, frame_of(sample.location_ids[i]));
    if (sample.location_ids.size() == kMostImportedFrames) deep_ = true;
    return stack;
  }

  model::FrameId frame_of(std::uint64_t id) {
    const auto [known, added] = frames_.try_emplace(id);
    if (!added) return known->second;
    const auto found = message_.locations.find(id);
    static const PprofMessage::Location kNowhere;
    const PprofMessage::Location& location = found == message_.locations.end() ? kNowhere : found->second;
    const auto mapping_row = message_.mapping_rows.find(location.mapping_id);
    const PprofMessage::Mapping* mapping =
        mapping_row == message_.mapping_rows.end() ? nullptr : &message_.mappings[mapping_row->second];
    const model::ModuleId module =
        mapping == nullptr ? import_.module({})
                           : import_.module(mapping->path, mapping->build_id,
                                            mapping->has_lines       ? model::SymbolSource::kDwarf
                                            : mapping->has_functions ? model::SymbolSource::kSymtab
                                                                     : model::SymbolSource::kNone);
    // Where the file is loaded is known, and not what its addresses are called in its tables: the place in the file.
    std::string place = location.address == 0 ? "[unknown]" : fmt::format("[{:#x}]", location.address);
    if (mapping != nullptr && location.address >= mapping->start && !mapping->path.empty())
      place = fmt::format("[{}+{:#x}]", base_name(mapping->path),
                          location.address - mapping->start + mapping->file_offset);
    std::vector<model::Builder::NamedLine> lines;
    bool named = false;
    for (const PprofMessage::Line& line : location.lines) {
      const auto function = message_.functions.find(line.function_id);
      if (function == message_.functions.end()) continue;
      const auto number =
          line.line > 0 && line.line <= UINT32_MAX ? static_cast<std::uint32_t>(line.line) : 0;
      const bool has_name = !function->second.name.empty() && !is_address(function->second.name);
      named = named || has_name;
      lines.push_back({has_name ? function->second.name : place, function->second.file, number});
    }
    if (lines.empty()) lines.push_back({place, "", 0});
    if (!named) ++nameless_;
    SourceNames names;
    names.replace_in(lines);
    return known->second = import_.builder.frame_with_lines(module, {}, lines);
  }

  void end() {
    model::Profile& profile = import_.profile;
    if (samples_ != 0 || waits_ != 0) profile.quality.samples = samples_ != 0 ? samples_ : waits_;
    stable_sort_rows(profile.heap.rows, {}, [](const model::HeapRow& row) { return row.site.value; });
    for (const auto& [key, sum] : sizes_)
      profile.heap.histograms.push_back({{key.first}, model::HeapHistogramKind::kSize, key.second, sum});
    if (has_heap_) {
      model::Heap& heap = profile.heap.heaps[0];
      heap.peak_ns = kImportStart;
      heap.peak_bytes = profile.heap.slices[0].live_bytes;
      heap.peak_blocks = profile.heap.slices[0].live_blocks;
      if (has(Meaning::kPeakBytes)) heap.peak_bytes = heap.peak_blocks = 0;
      for (const auto& [site, peak] : peaks_) {
        profile.heap.summaries.push_back({{site}, peak, variance_of(peak), 0});
        heap.peak_bytes += peak.bytes;
        heap.peak_blocks += peak.blocks;
      }
      profile.heap.slices[0].peak_bytes = heap.peak_bytes;
    }
    say_what_is_left_out();
  }

  void say_what_is_left_out() {
    if (counted_ && message_.types[*counted_].type.empty())
      import_.note("The file does not say what its values are.");
    else if (counted_)
      import_.note(fmt::format("The values are {} ({}) and no CPU time.", message_.types[*counted_].type,
                               message_.types[*counted_].unit));
    if (has(Meaning::kWallTime) && has(Meaning::kCpuTime) && !wall_holds_cpu_)
      import_.note("The file has wall-clock times that are less than its CPU times; they are left out.");
    if (has(Meaning::kWaits) && waits_ != 0)
      import_.note(fmt::format(
          "{} waits for locks and channels were counted; in a mutex profile their time is charged to the holder of the lock.",
          waits_));
    std::vector<std::string> rest;
    for (std::size_t i = 0; i < message_.types.size(); ++i) {
      const auto& [type, unit] = message_.types[i];
      const auto column = columns_.find(meaning_of_column(i));
      if (counted_ ? *counted_ != i : column == columns_.end() || column->second != i)
        rest.push_back(fmt::format("{} ({})", type, unit));
    }
    if (!rest.empty())
      import_.note(fmt::format("The file counts more, which is left out: {}.", fmt::join(rest, ", ")));
    if (nameless_ != 0) import_.note(fmt::format("{} places of the file have no name in it.", nameless_));
    if (deep_)
      import_.note(
          fmt::format("Stacks with more than {} frames lose their outermost frames.", kMostImportedFrames));
    for (const std::string_view comment : message_.comments)
      if (!comment.empty()) import_.note(fmt::format("Comment in the file: {}", comment.substr(0, 200)));
  }

  const PprofMessage& message_;
  const std::string& name_;
  Import import_{"pprof"};
  std::map<Meaning, std::size_t> columns_;
  std::vector<bool> fell_;              // columns with amounts of less than nothing
  std::optional<std::size_t> counted_;  // the column that is shown where none has a meaning
  std::optional<std::size_t>
      sampled_time_;  // the column of samples that stand for a time which no other column has
  std::unordered_map<std::uint64_t, model::FrameId> frames_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, model::HeapSum> sizes_;
  std::map<std::uint32_t, model::HeapSum> peaks_;
  std::string program_;
  std::uint64_t samples_ = 0, waits_ = 0, nameless_ = 0;
  bool has_heap_ = false, has_labels_ = false, labels_of_threads_ = false;
  bool cpu_in_samples_ = false, wall_holds_cpu_ = false, deep_ = false;
};

}  // namespace

Result<model::Profile> read_pprof(std::string_view bytes, const std::string& name) {
  const Result<PprofMessage> message = read_pprof_message(bytes, name);
  if (!message) return tl::unexpected(message.error());
  return Reader(*message, name).read();
}

}  // namespace fathom::formats
