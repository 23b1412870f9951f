#include "tools/clickhouse/profile_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/cursor.h"
#include "formats/import/import.h"
#include "model/facts.h"
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
    for (const SumRow& row : rows)
      if (row.metric.starts_with(kQualityPrefix))
        add_quality(row);
      else
        add_sample(row);
    if (missing_ != 0)
      import_.note(fmt::format("{} rows have a stack that {} does not have.", missing_, origin_.stacks));
    if (unknown_ != 0)
      import_.note(fmt::format("{} rows have a metric that this fathom does not know.", unknown_));
    return import_.finish(origin_.place);
  }

 private:
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
      stacks_.emplace(hash, stack_of(names));
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
      if (colon != source.npos)
        std::from_chars(source.data() + colon + 1, source.data() + source.size(), line);
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
    sample.thread = import_.thread(process_, thread_number(row.thread), row.thread);
    const auto stack = stacks_.find(row.stack);
    if (stack != stacks_.end()) {
      sample.stack = stack->second;
    } else if (row.stack != 0) {
      ++missing_;
      sample.stack = import_.builder.stack({0}, import_.frame(import_.module(""), "[stack not found]"));
    }
    import_.profile.samples.push_back(sample);
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
  std::unordered_map<std::uint64_t, model::StackId> stacks_;
  std::map<std::string, std::int32_t> threads_;
  std::uint64_t missing_ = 0, unknown_ = 0;
};

}  // namespace

Result<model::Profile> profile_of(const Origin& origin, const Extent& extent, const std::string& stacks,
                                  const std::string& sums) {
  return ProfileMaker(origin, extent).make(stacks, sums);
}

}  // namespace fathom::clickhouse
