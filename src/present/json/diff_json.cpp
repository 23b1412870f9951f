#include "present/json/diff_json.h"

#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"
#include "present/json/or_null.h"
#include "present/sentences/diff_legend.h"
#include "present/sentences/diff_sentences.h"
#include "present/sentences/memory_sentences.h"

namespace fathom::present {
namespace {

using analysis::Change;
using analysis::DiffReport;
using analysis::DiffUnit;
using Json = nlohmann::ordered_json;  // keys in the order of the documentation

std::string_view unit_word(const DiffReport& report) {
  switch (report.unit) {
    case DiffUnit::kOfCore:
      return "seconds per second";
    case DiffUnit::kShare:
      return "share";
    case DiffUnit::kNs:
      return "ns";
    case DiffUnit::kBytes:
      return "bytes";
    case DiffUnit::kCount:
      break;
  }
  return report.count_unit;
}

Json change_json(const Change& change) {
  return {{"base", change.base},
          {"new", change.fresh},
          {"change", change.change},
          {"error", change.error},
          {"p", change.p},
          {"looked_at", change.looked_at},
          {"beyond_noise", change.beyond_noise}};
}

std::string_view kind_word(analysis::TotalKind kind) {
  switch (kind) {
    case analysis::TotalKind::kCpu:
      return "cpu";
    case analysis::TotalKind::kWall:
      return "wall";
    case analysis::TotalKind::kCalls:
      return "calls";
    case analysis::TotalKind::kWaits:
      return "waits";
    case analysis::TotalKind::kQueue:
      return "run-queue";
    case analysis::TotalKind::kAllocations:
      return "heap-allocations";
    case analysis::TotalKind::kAllocated:
      return "heap-allocated";
    case analysis::TotalKind::kHeapPeak:
      return "heap-peak";
    case analysis::TotalKind::kPeakRss:
      return "peak-rss";
    case analysis::TotalKind::kSpanMedian:
      return "span-median";
    case analysis::TotalKind::kSpanP95:
      return "span-p95";
  }
  return "";
}

Json total_json(const analysis::Total& total) {
  DiffReport unit;
  unit.unit = total.unit;
  unit.count_unit = total.kind == analysis::TotalKind::kCalls   ? "calls"
                    : total.kind == analysis::TotalKind::kWaits ? "waits"
                                                                : "allocations";
  Json json;
  json["total"] = kind_word(total.kind);
  json["name"] = total.name.empty() ? Json() : Json(analysis::valid_utf8(total.name));
  json["normalization"] = analysis::to_string(total.per);
  json["unit"] = unit_word(unit);
  json["measured"] = !total.sampled;
  json["change"] = change_json(total.change);
  json["ratio"] = total.ratio ? Json(total.ratio->value) : Json();
  json["ratio_low"] = total.ratio ? Json(total.ratio->low) : Json();
  json["ratio_high"] = total.ratio ? Json(total.ratio->high) : Json();
  return json;
}

Json side_json(const analysis::DiffSide& side) {
  Json json;
  json["files"] = Json::array();
  for (const std::string& label : side.labels) json["files"].push_back(analysis::valid_utf8(label));
  json["seconds"] = side.seconds;
  json["samples"] = side.samples;
  json["unmatched"] = side.unmatched;
  json["by_code"] = side.by_code;
  json["spread"] = or_null(side.spread);
  json["unevenness"] = or_null(side.unevenness);
  return json;
}

Json groups_json(const std::vector<analysis::DiffGroup>& groups) {
  Json json = Json::array();
  for (const analysis::DiffGroup& group : groups) {
    if (group.self.looked_at)
      json.push_back({{"name", analysis::valid_utf8(group.name)}, {"self", change_json(group.self)}});
  }
  return json;
}

Json report_json(const DiffReport& report) {
  Json json;
  json["metric"] = model::to_string(report.metric);
  json["normalization"] = analysis::to_string(report.normalization);
  json["unit"] = unit_word(report);
  json["work"] = report.work.empty() ? Json() : Json(analysis::valid_utf8(report.work));
  json["summary"] = diff_headline(report);
  json["exact"] = report.exact;
  json["whole_runs"] = report.whole_runs;
  json["looked_at"] = report.looked_at;
  json["level"] = report.level;
  json["base"] = side_json(report.base);
  json["new"] = side_json(report.fresh);
  json["whole"] = change_json(report.whole);
  json["functions"] = Json::array();
  for (const analysis::DiffRow& row : report.rows) {
    if (!row.self.looked_at && !row.total.looked_at) continue;
    Json function;
    function["name"] = analysis::valid_utf8(row.name);
    function["module"] = analysis::valid_utf8(row.module);
    function["file"] = row.file.empty() ? Json() : Json(analysis::valid_utf8(row.file));
    function["line"] = row.line == 0 ? Json() : Json(row.line);
    function["only"] = row.is_new() ? Json("new") : row.is_gone() ? Json("base") : Json();
    function["self"] = change_json(row.self);
    function["total"] = change_json(row.total);
    json["functions"].push_back(std::move(function));
  }
  json["causes"] = groups_json(report.causes);
  json["threads"] = groups_json(report.threads);
  json["modules"] = groups_json(report.modules);
  json["crates"] = groups_json(report.crates);
  json["sizes"] = groups_json(report.sizes);
  json["lifetimes"] = groups_json(report.lifetimes);
  return json;
}

Json memory_json(const analysis::MemoryDiff& memory) {
  Json json;
  json["rss"] = change_json(memory.rss);
  json["parts"] = Json::array();
  for (const analysis::MemoryDiffPart& part : memory.parts) {
    analysis::MemoryPart named;
    named.key = part.key;
    json["parts"].push_back({{"key", part.key},
                             {"label", label_of(named, memory.traced)},
                             {"anonymous", part.anonymous},
                             {"bytes", change_json(part.bytes)}});
  }
  return json;
}

Json quality_json(const analysis::SideQuality& side) {
  const auto share = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  return {{"runs", side.runs},
          {"imported", side.imported},
          {"samples", side.samples},
          {"lost", side.lost},
          {"waits", side.waits},
          {"lost_waits", side.lost_waits},
          {"heap_events", side.heap_events},
          {"lost_heap_events", side.lost_heap_events},
          {"complete_share", share(side.complete_share)},
          {"unnamed_share", share(side.unnamed_share)},
          {"own_cost", share(side.own_cost)}};
}

}  // namespace

std::string diff_json(const std::vector<DiffReport>& reports, const std::vector<FailedCondition>& failed,
                      const analysis::MemoryDiff* memory, const analysis::DiffQuality* quality,
                      const std::vector<analysis::Total>& totals) {
  Json json;
  json["format_version"] = kDiffJsonVersion;
  json["doubts"] = Json::array();
  if (!reports.empty()) {
    for (const std::string& doubt : doubt_sentences(reports.front())) json["doubts"].push_back(doubt);
  }
  json["failed"] = Json::array();
  for (const FailedCondition& row : failed) {
    for (const analysis::Failure& failure : row.failures) {
      json["failed"].push_back(
          {{"condition", analysis::valid_utf8(row.condition.text)},
           {"metric", row.condition.total ? kind_word(*row.condition.total) : model::to_string(row.metric)},
           {"name", analysis::valid_utf8(failure.name)},
           {"change", change_json(failure.change)}});
    }
  }
  json["totals"] = Json::array();
  for (const analysis::Total& total : totals) json["totals"].push_back(total_json(total));
  json["metrics"] = Json::array();
  for (const DiffReport& report : reports) json["metrics"].push_back(report_json(report));
  json["memory"] = memory != nullptr ? memory_json(*memory) : Json();
  json["quality"] = Json();
  if (quality != nullptr)
    json["quality"] = {{"base", quality_json(quality->base)}, {"new", quality_json(quality->fresh)}};
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::present
