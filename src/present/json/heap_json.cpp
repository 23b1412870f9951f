#include "present/json/heap_json.h"

#include <fmt/format.h>

#include "present/json/heap_amounts_json.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/heap_verdict_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

using Json = nlohmann::ordered_json;

Json sum_json(const model::HeapSum& sum) {
  return {{"blocks", sum.blocks}, {"bytes", sum.bytes}};
}
Json function_json(const HeapFunctionRow& row, bool complete) {
  return {{"name", row.name},
          {"module", row.module},
          {"live", amounts_json(row.live, complete)},
          {"growth", amounts_json(row.growth, complete)},
          {"peak", amounts_json(row.peak, complete)},
          {"allocated", amounts_json(row.allocated, complete)},
          {"freed", amounts_json(row.freed, complete)},
          {"temporary", sum_json(row.temporary)},
          {"short_lived", sum_json(row.short_lived)},
          {"longest_s", row.longest_s},
          {"stacks", row.sites}};
}

Json allocator_json(const HeapAllocatorRow& row, bool complete) {
  return {{"label", row.label},
          {"module", row.module},
          {"live", amounts_json(row.live, complete)},
          {"allocated", amounts_json(row.allocated, complete)},
          {"by_slot", row.by_slot},
          {"by_entry", row.by_entry},
          {"by_probe", row.by_probe},
          {"missed", row.missed}};
}

Json buckets_json(const std::vector<HeapBucketRow>& rows, const char* from) {
  Json json = Json::array();
  for (const HeapBucketRow& row : rows)
    json.push_back({{from, row.from}, {"blocks", row.sum.blocks}, {"bytes", row.sum.bytes}});
  return json;
}

Json trend_json(const Trend& trend) {
  static constexpr const char* kShapes[] = {"short", "noise", "plateau", "growing", "steps", "falling"};
  const bool known = trend.slope.known;
  return {{"shape", kShapes[static_cast<std::size_t>(trend.shape)]},
          {"seconds", trend.duration_s},
          {"first_bytes", trend.first},
          {"last_bytes", trend.last},
          {"slope", known ? Json(trend.slope.per_s) : Json()},
          {"slope_interval", known ? Json({trend.slope.low, trend.slope.high}) : Json()},
          {"r2", trend.slope.r2},
          {"independent_values", trend.slope.independent_values},
          {"late_rise", trend.late_rise},
          {"late_rise_error", trend.late_rise_error},
          {"new_maximum", trend.new_maximum},
          {"warm_up_s", trend.warm_up_s},
          {"swing", trend.swing},
          {"steps", trend.steps}};
}

Json verdict_json(const HeapVerdict& verdict) {
  Json json = {{"kind", to_string(verdict.kind)},
               {"confidence", to_string(verdict.confidence)},
               {"pid", verdict.pid},
               {"function", verdict.function},
               {"module", verdict.module},
               {"bytes", verdict.bytes},
               {"sentence", sentence_of(verdict)},
               {"evidence", evidence_of(verdict)},
               {"doubts", doubts_of(verdict)},
               {"advice", advice_of(verdict)}};
  json["trend"] = verdict.trend ? trend_json(*verdict.trend) : Json();
  json["numbers"] = Json::object();
  for (const auto& [name, value] : verdict.numbers) json["numbers"][name] = value;
  json["shares"] = Json::array();
  for (const HeapShare& share : verdict.shares)
    json["shares"].push_back({{"name", share.name},
                              {"module", share.module},
                              {"caller", share.caller.empty() ? Json() : Json(share.caller)},
                              {"bytes", share.bytes},
                              {"percent", 100 * share.share},
                              {"path", share.path}});
  return json;
}

Json returns_json(const std::vector<HeapReturnRow>& rows) {
  Json json = Json::array();
  for (const HeapReturnRow& row : rows)
    json.push_back({{"allocator", row.allocator.empty() ? Json() : Json(row.allocator)},
                    {"function", row.function},
                    {"module", row.module},
                    {"calls", row.calls},
                    {"bytes", row.bytes},
                    {"path", row.path}});
  return json;
}

Json blocks_json(const std::vector<HeapBlockRow>& rows) {
  Json json = Json::array();
  for (const HeapBlockRow& row : rows)
    json.push_back({{"address", fmt::format("{:#x}", row.address)},
                    {"size", row.size},
                    {"allocated_s", row.allocated_s},
                    {"freed_s", row.freed_s ? Json(*row.freed_s) : Json()},
                    {"age_s", row.age_s},
                    {"stands_for", row.stands_for},
                    {"thread", row.thread},
                    {"function", row.function},
                    {"module", row.module}});
  return json;
}

Json quality_json(const HeapReport& heap) {
  const model::Heap& counters = heap.counters;
  Json json = losses_json(heap.losses);
  json.update(Json{{"nested", counters.nested},
                   {"unwalked", counters.unwalked},
                   {"incomplete", counters.incomplete},
                   {"unseen_frees", counters.unseen_frees},
                   {"without_site", counters.merged_sites},
                   {"waited_s", static_cast<double>(counters.waited_ns) / 1e9},
                   {"findings", Json::array()}});
  for (const HeapFinding& finding : heap.findings) json["findings"].push_back(text_of(finding, heap));
  return json;
}

}  // namespace

void add_heap(nlohmann::ordered_json& json, const HeapReport& heap, std::size_t top) {
  Json all;
  const bool complete = heap.losses.complete();
  all["mode"] = heap.exact && heap.sampled ? "both" : heap.exact ? "exact" : "sampled";
  all["mean_bytes"] = heap.mean_bytes == 0 ? Json() : Json(heap.mean_bytes);
  all["from_start"] = heap.from_start;
  all["window_s"] = heap.window_s;
  all["summary"] = sentences_of(heap);
  all["verdicts"] = Json::array();
  for (const HeapVerdict& verdict : heap.verdicts) all["verdicts"].push_back(verdict_json(verdict));
  all["allocated"] = amounts_json(heap.total.allocated, complete);
  all["freed"] = amounts_json(heap.total.freed, complete);
  all["live"] = amounts_json(heap.total.live, complete);
  all["leaked"] = amounts_json(heap.total.leaked, complete);
  all["growth"] = amounts_json(heap.total.growth, complete);
  all["temporary"] = heap.temporary_is_short_lived ? Json() : sum_json(heap.total.temporary);
  all["short_lived"] = sum_json(heap.total.short_lived);
  all["peak"] = amounts_json(heap.peak, complete);
  all["peak"]["at_s"] = heap.peak_at_s;
  all["peak"]["exact"] = heap.peak_exact;
  all["earlier"] = {
      {"frees", heap.counters.earlier_frees},
      {"rss_bytes", heap.counters.earlier_rss_bytes == 0 ? Json() : Json(heap.counters.earlier_rss_bytes)}};
  all["functions_total"] = heap.functions.size();
  all["functions"] = Json::array();
  for (const HeapFunctionRow& row : heap.functions) {
    if (top != 0 && all["functions"].size() == top) break;
    all["functions"].push_back(function_json(row, complete));
  }
  all["allocators"] = Json::array();
  for (const HeapAllocatorRow& row : heap.allocators)
    all["allocators"].push_back(allocator_json(row, complete));
  all["sizes"] = buckets_json(heap.sizes, "from_bytes");
  all["lifetimes"] = buckets_json(heap.lifetimes_s, "from_s");
  all["ages"] = buckets_json(heap.ages_s, "from_s");
  all["given_back"] = returns_json(heap.returns);
  all["timeline"] = Json::array();
  for (const HeapSliceRow& row : heap.slices)
    all["timeline"].push_back({{"from_s", row.from_s},
                               {"to_s", row.to_s},
                               {"live_bytes", row.live_bytes},
                               {"live_blocks", row.live_blocks},
                               {"peak_bytes", row.peak_bytes},
                               {"allocated_bytes", row.allocated_bytes},
                               {"allocations", row.allocations},
                               {"freed_bytes", row.freed_bytes}});
  if (!heap.blocks.empty()) all["blocks"] = blocks_json(heap.blocks);
  all["unseen_allocators"] = unseen_json(heap.unseen);
  all["unseen_bytes_at_most"] = heap.unseen_at_most ? Json(*heap.unseen_at_most) : Json();
  all["quality"] = quality_json(heap);
  json["heap"] = std::move(all);
}

}  // namespace fathom::present
