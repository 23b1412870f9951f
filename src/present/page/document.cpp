#include "present/page/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/core/stack_sums.h"
#include "analysis/core/words.h"
#include "base/parse.h"
#include "model/event_samples.h"
#include "model/marks.h"
#include "present/page/call_nodes.h"
#include "present/page/columns.h"
#include "present/page/cost_table.h"
#include "present/page/fold_calls.h"
#include "present/page/parts.h"
#include "present/page/series_columns.h"
#include "present/page/story.h"
#include "present/page/time_slices.h"

namespace fathom::page {
namespace {

using Json = nlohmann::ordered_json;
using model::Metric;

constexpr std::uint64_t kMostWaitEntries = 8'000'000;

// Frees each table as it becomes columns.
void add_costs(Costs& costs, Columns& columns, Json& metrics) {
  for (CostTable& table : costs.tables) {
    const model::MetricInfo& info = model::info_of(table.metric);
    const std::string name(info.name);
    add_table(name, table, columns);
    table = {};
    metrics.push_back({{"name", name}, {"title", info.title}, {"table", name}});
  }
  if (!costs.has_heap) return;
  const HeapTable& heap = costs.heap;
  add_cells("heap", heap.cells, heap.first, columns);
  columns.add_differences("heap.slice", differences(column(heap.entries, [](const HeapEntry& entry) {
                            return static_cast<std::uint64_t>(std::int64_t{entry.slice});
                          })));
  const auto add = [&](const char* name, const auto& rows, auto value) {
    std::vector<double> values;
    for (const auto& row : rows) values.push_back(value(row));
    columns.add_reals(name, values);
  };
  add("heap.allocated_bytes", heap.entries, [](const HeapEntry& entry) { return entry.allocated.bytes; });
  add("heap.allocated_blocks", heap.entries, [](const HeapEntry& entry) { return entry.allocated.blocks; });
  add("heap.freed_bytes", heap.entries, [](const HeapEntry& entry) { return entry.freed.bytes; });
  add("heap.freed_blocks", heap.entries, [](const HeapEntry& entry) { return entry.freed.blocks; });
  add("heap.peak_bytes", heap.peak, [](const model::HeapSum& peak) { return peak.bytes; });
  for (const Metric metric : {Metric::kHeapLive, Metric::kHeapAllocated, Metric::kHeapAllocations,
                              Metric::kHeapGrowth, Metric::kHeapPeak}) {
    const model::MetricInfo& info = model::info_of(metric);
    metrics.push_back({{"name", info.name}, {"title", info.title}, {"table", "heap"}, {"unit", info.unit}});
  }
}

Json words_of(const Story& story) {
  Json claims = Json::array();
  for (const Claim& claim : story.claims)
    claims.push_back(
        {{"subject", claim.subject}, {"text", claim.text}, {"metric", claim.metric}, {"focus", claim.focus}});
  return {{"headline", story.headline},
          {"quality", story.quality},
          {"claims", claims},
          {"complaints", story.complaints}};
}

// What one independent sample is worth, on average; 0 where every event was counted.
double weight_of(const model::Profile& profile, Metric metric) {
  analysis::TreeOptions options;
  options.selection.metric = metric;
  analysis::CallTree tree;
  tree.metric = metric;
  tree.unit = analysis::unit_of(profile, metric);
  double whole = 0;
  for (const auto& row : analysis::add_up_stacks(profile, options, tree).rows)
    whole += static_cast<double>(row.value);
  return tree.effective_samples > 0 && tree.effective_samples < analysis::kExact
             ? whole / tree.effective_samples
             : 0;
}
using Weights = std::map<std::string, double, std::less<>>;
Weights weights_of(const model::Profile& profile) {
  Weights weights;
  for (const Metric metric : {Metric::kCpu, Metric::kOffCpu, Metric::kHeapLive, Metric::kHeapAllocated,
                              Metric::kHeapAllocations, Metric::kHeapGrowth, Metric::kHeapPeak})
    weights.emplace(model::to_string(metric), weight_of(profile, metric));
  return weights;
}

Result<std::string> pack(const model::Profile& profile, const LetGo& let_go, const DocumentOptions& options,
                         const Story& story, const Weights& weights, const TimeSlices& slices,
                         double least_share) {
  CallNodes calls(profile);
  Costs costs = add_up_costs(profile, slices, calls, let_go);
  const std::uint32_t folded = least_share > 0 ? fold_small_calls(calls, costs, least_share) : 0;
  Columns columns;
  Json metrics = Json::array();
  add_nodes(calls.nodes, calls.places, columns);
  add_costs(costs, columns, metrics);
  for (Json& metric : metrics) {
    if (!metric.contains("unit"))
      metric["unit"] = analysis::unit_of(profile, *model::metric_from(metric["name"].get<std::string>()));
    if (metric["name"] == model::to_string(Metric::kCpu))
      metric["title"] = analysis::printable(model::title_of(profile, Metric::kCpu));
    const auto weight = weights.find(metric["name"].get<std::string>());
    metric["weight"] = weight == weights.end() ? 0 : weight->second;
  }
  Json series = add_series(profile, columns);
  Json waits = add_wait_parts(profile, costs, columns);
  Json blocks = add_heap_parts(costs, columns);
  Json spans = add_spans(*options.spans, options.span_cut, options.can_ask_spans, calls.texts, columns);
  Json threads = Json::array();
  for (const ThreadName& thread : costs.threads)
    threads.push_back({{"name", calls.texts.rows()[thread.name]}, {"threads", thread.threads}});
  const auto fact = [&](const char* name) {
    const auto found = profile.meta.facts.find(name);
    return found == profile.meta.facts.end() ? std::string() : analysis::printable(found->second);
  };
  Json marks = Json::array();
  for (const model::Phase& phase : model::phases_of(profile))
    marks.push_back({{"s", phase.from_s}, {"name", analysis::printable(phase.name)}});
  Json head = {
      {"version", kDocumentVersion},
      {"file", analysis::printable(options.file)},
      {"arguments", options.arguments},
      {"target", analysis::printable(profile.meta.target)},
      {"event", analysis::printable(profile.meta.event)},
      {"frequency_hz", profile.meta.frequency_hz},
      {"period_ns", analysis::sample_period_ns(profile)},
      {"start_unix_ms", profile.meta.start_unix_ns / 1'000'000},
      {"duration_ns",
       profile.meta.end_ns > profile.meta.start_ns ? profile.meta.end_ns - profile.meta.start_ns : 0},
      {"cpus", fact("cpus")},
      {"host", fact("host")},
      {"memory_limit", parse_number(fact("oom_limit_bytes")).value_or(0)},
      {"marks", std::move(marks)},
      {"slice_ms", slices.width_ms()},
      {"slices", slices.count()},
      {"folded", {{"calls", folded}, {"share", least_share}}},
      {"words", words_of(story)},
      {"metrics", std::move(metrics)},
      {"threads", std::move(threads)},
      {"series", std::move(series)},
      {"waits", std::move(waits)},
      {"heap", std::move(blocks)},
      {"spans", std::move(spans)},
      {"modules", modules_of(profile)},
      {"texts", calls.texts.rows()}};
  costs = {};  // the rest takes room of its own
  return pack_document(std::move(head), columns);
}

// `let_go` may be empty; then `again` is not asked.
Result<Document> fit(const model::Profile& profile, const LetGo& let_go,
                     const std::function<Result<>()>& again, DocumentOptions options) {
  constexpr std::uint32_t kFewestSlices = 100;
  Story story = tell(profile);
  Weights weights = weights_of(profile);
  if (!options.spans) options.spans = spans_of(profile);
  TimeSlices slices(profile.meta.start_ns, profile.meta.end_ns, options.most_slices);
  const auto widen = [&] {
    slices =
        TimeSlices(profile.meta.start_ns, profile.meta.end_ns, options.most_slices, wider(slices.width_ms()));
  };
  while (wait_entries(profile, slices) > kMostWaitEntries && slices.count() > kFewestSlices) widen();
  double share = 0;
  for (;;) {
    Result<std::string> packed = pack(profile, let_go, options, story, weights, slices, share);
    if (!packed) return tl::unexpected(packed.error());
    if (packed->size() <= options.most_bytes) return Document{std::move(*packed), slices.width_ms(), share};
    packed = std::string();
    if (let_go) {
      if (const Result<> read = again(); !read) return tl::unexpected(read.error());
      story = tell(profile);  // of a file that is still written more is known now
      weights = weights_of(profile);
    }
    if (slices.count() > kFewestSlices) {
      widen();
    } else if (share < 0.05) {
      share = share > 0 ? share * 4 : 1e-5;
    } else {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("the page would be larger than {}",
                              analysis::bytes(static_cast<double>(options.most_bytes))),
                  "fathom report, or one process of several (--pid)");
    }
  }
}

template <class Row>
void drop(std::vector<Row>& rows) {
  std::vector<Row>().swap(rows);
}

}  // namespace

Result<Document> make_document(const model::Profile& profile, const DocumentOptions& options) {
  return fit(profile, {}, {}, options);
}

Result<Document> make_document(model::Profile&& profile, const ReadAgain& again,
                               const DocumentOptions& options) {
  const auto let_go = [&profile](Piece piece) {
    if (piece == Piece::kHeapRows) {
      profile.heap.packed_rows.clear();
      drop(profile.heap.rows);
      drop(profile.heap.blocks);
      return;
    }
    profile.packed_samples.clear();
    profile.packed_waits.clear();
    drop(profile.samples);
    drop(profile.waits);
  };
  const auto read = [&]() -> Result<> {
    Result<model::Profile> whole = again();
    if (!whole) return tl::unexpected(whole.error());
    profile = std::move(*whole);
    return {};
  };
  return fit(profile, let_go, read, options);
}

}  // namespace fathom::page
