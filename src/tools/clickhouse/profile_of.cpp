#include "tools/clickhouse/profile_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/cursor.h"
#include "base/parse.h"
#include "formats/import/import.h"
#include "model/facts.h"
#include "model/heap_ends.h"
#include "model/wait_sums.h"
#include "tools/clickhouse/row_binary.h"
#include "tools/clickhouse/rows.h"
#include "tools/clickhouse/schema.h"

namespace fathom::clickhouse {
namespace {

constexpr std::size_t kMostFactNames = 50;

struct SumRow {
  std::string_view metric, thread;
  std::uint64_t period_ns = 0, stack = 0;
  std::int64_t value = 0;
};

// One element of each of the four arrays of a stack.
struct Names {
  std::vector<std::string_view> functions, modules, sources;
  std::vector<std::uint8_t> flags;
};

class ProfileMaker {
 public:
  ProfileMaker(const Origin& origin, const Extent& extent)
      : origin_(origin), extent_(extent), import_(origin.format) {}

  Result<model::Profile> make(const std::string& stacks, const std::string& sums) {
    if (!read_stacks(stacks)) return cut_short("stacks");
    std::vector<SumRow> rows;
    Cursor in(std::as_bytes(std::span(sums.data(), sums.size())));
    while (!in.at_end()) {
      SumRow row;
      row.metric = read_text(in);
      row.thread = read_text(in);
      row.period_ns = in.read<std::uint64_t>();
      row.stack = in.read<std::uint64_t>();
      row.value = static_cast<std::int64_t>(in.read<std::uint64_t>());
      if (in.ok()) rows.push_back(row);
    }
    if (!in.ok()) return cut_short("samples");
    // The same question has the same answer, though servers give rows in any order.
    std::ranges::sort(rows, [](const SumRow& a, const SumRow& b) {
      return std::tie(a.metric, a.thread, a.stack, a.period_ns, a.value) <
             std::tie(b.metric, b.thread, b.stack, b.period_ns, b.value);
    });
    describe(rows);
    process_ = import_.process(1, origin_.service);
    // Earlier versions of fathom sent only what was allocated, which stays a metric of samples.
    const bool has_heap = std::ranges::any_of(
        rows, [](const SumRow& row) { return is_level(row.metric) || row.metric == kFreedBytes; });
    std::map<std::pair<std::string_view, std::uint64_t>, std::int64_t>
        counts;  // of waits, by thread and stack
    import_.profile.meta.facts[model::kWaitSumsFact] = "yes";
    for (const SumRow& row : rows)
      if (row.metric == kWaitCount) counts[{row.thread, row.stack}] += row.value;
    for (const SumRow& row : rows)
      if (row.metric.starts_with(kQualityPrefix))
        add_quality(row);
      else if (has_heap && is_of_heap(row.metric))
        add_heap_row(row);
      else if (row.metric == kWaitCount)
        continue;
      else if (const auto place = stacks_.find(row.stack);
               row.metric == "off-cpu" && place != stacks_.end() && place->second.wait)
        add_wait(row, place->second, counts[{row.thread, row.stack}]);
      else
        add_sample(row);
    if (has_heap) finish_heap();
    if (missing_ != 0)
      import_.note(fmt::format("{} rows have a stack that {} does not have.", missing_, origin_.stacks));
    if (unknown_ != 0)
      import_.note(fmt::format("{} rows have a metric that this fathom does not know.", unknown_));
    return import_.finish(origin_.place);
  }

 private:
  // The stack of a hash; of a kind of wait also that without the frame of its cause.
  struct Place {
    model::StackId stack, waits;
    std::optional<WaitKind> wait;
  };

  tl::unexpected<Error> cut_short(std::string_view what) const {
    return fail(ErrorKind::kMalformed,
                fmt::format("{}: the answer with the {} is damaged", origin_.place, what));
  }

  bool read_stacks(const std::string& bytes) {
    Cursor in(std::as_bytes(std::span(bytes.data(), bytes.size())));
    Names names;
    while (!in.at_end()) {
      const auto hash = in.read<std::uint64_t>();
      for (auto* texts : {&names.functions, &names.modules, &names.sources}) {
        texts->clear();
        for (std::uint64_t count = in.read_uleb128(); count != 0 && in.ok(); --count)
          texts->push_back(read_text(in));
      }
      names.flags.clear();
      for (std::uint64_t count = in.read_uleb128(); count != 0 && in.ok(); --count)
        names.flags.push_back(in.read<std::uint8_t>());
      if (!in.ok() || names.modules.size() != names.functions.size() ||
          names.sources.size() != names.functions.size() || names.flags.size() != names.functions.size())
        return false;
      Place place{stack_of(names), {}, {}};
      WaitKind kind;
      kind.cause = read_text(in);
      kind.waker = read_text(in);
      kind.waker_stack = in.read<std::uint64_t>();
      const std::string_view facts = read_text(in);
      if (!in.ok()) return false;
      if (auto known = read_facts(facts); known && !names.functions.empty()) {
        known->cause = kind.cause;
        known->waker = kind.waker;
        known->waker_stack = kind.waker_stack;
        place.wait = std::move(known);
        place.waits = place.stack;  // its leaf is the cause, which the wait has
        if (place.stack.value != 0) place.waits = import_.profile.stacks[place.stack.value].parent;
      }
      stacks_.emplace(hash, std::move(place));
    }
    return in.ok();
  }

  model::StackId stack_of(const Names& names) {
    model::StackId stack{0};
    const std::size_t count = std::min(names.functions.size(), formats::kMostImportedFrames);
    // From the root. An inlined frame comes before (in the array) the one that it was inlined into.
    for (std::size_t end = count; end != 0;) {
      std::size_t first = end - 1;
      while (first > 0 && (names.flags[first - 1] & kInlinedBit) != 0 &&
             end - first < formats::kMostInlinedLines)
        --first;
      stack = import_.builder.stack(stack, place_of(names, first, end));
      end = first;
    }
    return stack;
  }

  model::FrameId place_of(const Names& names, std::size_t first, std::size_t end) {
    std::vector<model::Builder::NamedLine> lines;
    for (std::size_t i = first; i < end; ++i) {
      const std::string_view source = names.sources[i];
      const std::size_t colon = source.rfind(':');
      std::uint32_t line = 0;
      if (colon != source.npos) line = parse_number<std::uint32_t>(source.substr(colon + 1)).value_or(0);
      lines.push_back({names.functions[i], source.substr(0, colon), line});
    }
    return import_.builder.frame_with_lines(
        module_of(names.modules[end - 1], names.flags[end - 1] & kKindBits), ElfAddress{0}, lines);
  }

  model::ModuleId module_of(std::string_view name, std::uint8_t kind) {
    model::Module row;
    if (kind <= static_cast<std::uint8_t>(model::ModuleKind::kNames))
      row.kind = static_cast<model::ModuleKind>(kind);
    if (name.empty() && row.kind == model::ModuleKind::kUnknown) return {0};
    row.name = import_.builder.string(name);
    if (row.kind == model::ModuleKind::kFile) row.symbols = model::SymbolSource::kSymtab;
    return import_.builder.module(row);
  }

  // Time, names and the unit of CPU values.
  void describe(const std::vector<SumRow>& rows) {
    model::Meta& meta = import_.profile.meta;
    meta.target = origin_.service;
    meta.start_ns = meta.end_ns = formats::kImportStart;
    meta.start_unix_ns = std::uint64_t{extent_.from_unix_s} * 1'000'000'000;
    const double length = extent_.until_unix_s - extent_.from_unix_s;
    if (length > 0 && length < 4e9) meta.end_ns += static_cast<std::uint64_t>(length * 1e9);
    meta.facts["host"] = some(extent_.hosts, "hosts");
    meta.facts["versions"] = some(extent_.versions, "versions");
    std::set<std::uint64_t> periods;
    for (const SumRow& row : rows)
      if (row.metric == "cpu") periods.insert(row.period_ns);
    if (periods.empty()) return;
    meta.event = "cpu-clock";
    const std::uint64_t period = *periods.begin();
    const std::uint64_t rate =
        period == 0 ? 0 : static_cast<std::uint64_t>(std::llround(1e9 / static_cast<double>(period)));
    in_samples_ =
        periods.size() == 1 &&
        (period == 0 || (rate != 0 && rate <= 1'000'000 &&
                         std::llround(1e9 / static_cast<double>(rate)) == static_cast<long long>(period)));
    if (in_samples_)
      meta.frequency_hz = static_cast<std::uint32_t>(rate);
    else
      model::put_facts(model::ImportFacts{.unit = "ns"}, meta);
  }

  static std::string some(const std::vector<std::string>& names, std::string_view what) {
    if (names.size() <= kMostFactNames) return fmt::format("{}", fmt::join(names, ", "));
    return fmt::format("{} {}", names.size(), what);
  }

  void add_sample(const SumRow& row) {
    const auto metric = model::metric_from(row.metric);
    if (!metric || *metric > model::kLastSampleMetric) {
      ++unknown_;
      return;
    }
    model::Sample sample;
    sample.metric = *metric;
    sample.value = row.value;
    if (*metric == model::Metric::kCpu && !in_samples_ &&
        __builtin_mul_overflow(row.value, static_cast<std::int64_t>(row.period_ns), &sample.value))
      sample.value = std::numeric_limits<std::int64_t>::max();
    sample.thread = thread_of(row);
    sample.stack = stack_of(row);
    import_.profile.samples.push_back(sample);
  }

  model::ThreadId thread_of(const SumRow& row) {
    return import_.thread(process_, thread_number(row.thread), row.thread);
  }
  model::StackId stack_of(const SumRow& row) {
    if (const auto place = stacks_.find(row.stack); place != stacks_.end()) return place->second.stack;
    if (row.stack == 0) return {0};
    ++missing_;
    return import_.builder.stack({0}, import_.frame(import_.module(""), "[stack not found]"));
  }

  // As rows that stand for `count` waits of the mean length; two, so that they add up to the value.
  void add_wait(const SumRow& row, const Place& place, std::int64_t count) {
    if (row.value <= 0) return;
    model::Profile& profile = import_.profile;
    const WaitKind& kind = *place.wait;
    model::Wait wait;
    wait.start_ns = profile.meta.start_ns;
    wait.thread = thread_of(row);
    wait.stack = place.waits;
    apply(kind, profile, wait);
    if (!kind.waker.empty()) wait.waker = import_.thread(process_, thread_number(kind.waker), kind.waker);
    if (const auto waker = stacks_.find(kind.waker_stack); waker != stacks_.end())
      wait.waker_stack = waker->second.stack;
    // What waits for a CPU after another wait is no wait of its own, and counts as one here.
    const auto waits = static_cast<std::uint64_t>(std::clamp<std::int64_t>(count, 1, UINT32_MAX));
    const auto value = static_cast<std::uint64_t>(row.value);
    for (const bool longer : {false, true}) {
      const std::uint64_t rest = value % waits, ns = value / waits + (longer ? 1 : 0);
      wait.weight = static_cast<std::uint32_t>(longer ? rest : waits - rest);
      (kind.state == model::WaitState::kPreempted ? wait.queued_ns : wait.waited_ns) = ns;
      if (wait.weight == 0 || ns == 0) continue;
      profile.waits.push_back(wait);
      ++profile.quality.waits;
    }
  }

  // What one thread name and stack did in the whole time.
  struct HeapFigures {
    model::HeapSum allocated, freed, live;
  };

  void add_heap_row(const SumRow& row) {
    HeapFigures& figures = heap_[{thread_of(row), stack_of(row)}];
    const auto value = static_cast<double>(std::max<std::int64_t>(0, row.value));
    const auto metric = model::metric_from(row.metric);
    if (row.metric == kLiveBytes)
      figures.live.bytes += value;
    else if (row.metric == kLiveBlocks)
      figures.live.blocks += value;
    else if (row.metric == kFreedBytes)
      figures.freed.bytes += value;
    else if (row.metric == kFreedBlocks)
      figures.freed.blocks += value;
    else if (metric == model::Metric::kHeapAllocated)
      figures.allocated.bytes += value;
    else if (metric == model::Metric::kHeapAllocations)
      figures.allocated.blocks += value;
    if (is_level(row.metric)) heap_mean_bytes_ = std::max(heap_mean_bytes_, row.period_ns);
  }

  // That of blocks of this mean size: the variance of each block was not sent.
  model::HeapVariance variance_of(const model::HeapSum& sum) const {
    if (heap_mean_bytes_ == 0 || sum.blocks <= 0 || sum.bytes <= 0) return {};
    const double size = sum.bytes / sum.blocks;
    const double of_block = 1 / std::expm1(std::max(size, 1.0) / static_cast<double>(heap_mean_bytes_));
    return {sum.blocks * of_block, sum.bytes * size * of_block};
  }

  // One heap of all hosts, with an opening slice. What it was in between is not known.
  void finish_heap() {
    model::Profile& profile = import_.profile;
    const std::uint64_t start = profile.meta.start_ns;
    model::Heap heap;
    heap.process = process_;
    heap.mode = heap_mean_bytes_ == 0 ? model::HeapMode::kExact : model::HeapMode::kSampled;
    heap.mean_bytes = heap_mean_bytes_;
    heap.start_ns = start - 1;
    heap.end_ns = profile.meta.end_ns;
    model::HeapSlice opening{{0}, start - 1, start, start}, all{{0}, start, heap.end_ns, heap.end_ns};
    std::vector<model::HeapRow> later;
    for (auto& [place, figures] : heap_) {
      const model::HeapSiteId site = import_.site({0}, place.second, place.first);
      // A process that ended in the time freed all of its memory without a call.
      const auto before = [](double live, double allocated, double freed) {
        return std::max(0.0, live - allocated + freed);
      };
      model::HeapRow first, second;
      first.site = second.site = site;
      first.allocated = {before(figures.live.blocks, figures.allocated.blocks, figures.freed.blocks),
                         before(figures.live.bytes, figures.allocated.bytes, figures.freed.bytes)};
      first.allocated_variance = variance_of(first.allocated);
      second.slice = {1};
      second.allocated = figures.allocated;
      second.freed = {first.allocated.blocks + figures.allocated.blocks - figures.live.blocks,
                      first.allocated.bytes + figures.allocated.bytes - figures.live.bytes};
      second.allocated_variance = variance_of(second.allocated);
      second.freed_variance = variance_of(second.freed);
      opening.live_blocks += first.allocated.blocks;
      opening.live_bytes += first.allocated.bytes;
      all.live_blocks += figures.live.blocks;
      all.live_bytes += figures.live.bytes;
      if (first.allocated != model::HeapSum{}) profile.heap.rows.push_back(first);
      later.push_back(second);
    }
    profile.heap.rows.insert(profile.heap.rows.end(), later.begin(), later.end());
    opening.peak_bytes = opening.live_bytes;
    all.peak_bytes = std::max(opening.live_bytes, all.live_bytes);
    heap.peak_ns = heap.end_ns;
    heap.peak_bytes = all.peak_bytes;
    heap.peak_blocks = all.live_blocks;
    profile.heap.heaps.push_back(heap);
    profile.heap.slices = {opening, all};
    profile.meta.facts[model::kHeapEndsFact] = "yes";
  }

  // Threads of a name on many hosts are one row; the number only tells the rows apart.
  std::int32_t thread_number(std::string_view name) {
    return threads_.try_emplace(std::string(name), static_cast<std::int32_t>(threads_.size() + 1))
        .first->second;
  }

  void add_quality(const SumRow& row) {
    model::Quality& quality = import_.profile.quality;
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.value));
    if (row.metric == kQualitySamples) quality.samples += value;
    if (row.metric == kQualityExpected) quality.expected_samples += static_cast<double>(value);
    if (row.metric == kQualityLost) quality.lost_ring_full += value;
  }

  const Origin& origin_;
  const Extent& extent_;
  formats::Import import_;
  model::ProcessId process_;
  bool in_samples_ = true;
  std::unordered_map<std::uint64_t, Place> stacks_;
  std::map<std::string, std::int32_t> threads_;
  std::uint64_t missing_ = 0, unknown_ = 0;
  std::map<std::pair<model::ThreadId, model::StackId>, HeapFigures> heap_;
  std::uint64_t heap_mean_bytes_ = 0;
};

}  // namespace

Result<model::Profile> profile_of(const Origin& origin, const Extent& extent, const std::string& stacks,
                                  const std::string& sums) {
  return ProfileMaker(origin, extent).make(stacks, sums);
}

}  // namespace fathom::clickhouse
