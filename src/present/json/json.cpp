#include "present/json/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/metrics/recorded_metrics.h"
#include "analysis/stacks/kept_look.h"
#include "model/counted_limit.h"
#include "model/event_samples.h"
#include "present/json/component_json.h"
#include "present/json/heap_json.h"
#include "present/json/memory_json.h"
#include "present/json/problem_json.h"
#include "present/json/wait_json.h"
#include "present/sentences/left_sentences.h"
#include "present/sentences/quality_sentences.h"
#include "present/sentences/report_sentences.h"
#include "present/sentences/symbol_words.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

using Json = nlohmann::ordered_json;  // keys in the order of the documentation

double percent_of(double share) {
  return share * 100;
}

Json optional_percent(const std::optional<double>& share) {
  return share ? Json(percent_of(*share)) : Json();
}

Json interval_percent(const CallTree& tree, std::int64_t value) {
  const Interval interval = share_interval(tree, value);
  return Json::array({percent_of(interval.low), percent_of(interval.high)});
}

std::string_view kind_word(NodeKind kind) {
  switch (kind) {
    case NodeKind::kRoot:
      return "root";
    case NodeKind::kThread:
      return "thread";
    case NodeKind::kUser:
      return "user";
    case NodeKind::kInlined:
      return "inlined";
    case NodeKind::kKernel:
      return "kernel";
    case NodeKind::kCause:
      return "cause";
    case NodeKind::kOther:
      return "other";
  }
  return "other";
}

std::string_view kind_word(model::ModuleKind kind) {
  switch (kind) {
    case model::ModuleKind::kUnknown:
      return "unknown";
    case model::ModuleKind::kFile:
      return "file";
    case model::ModuleKind::kKernel:
      return "kernel";
    case model::ModuleKind::kVdso:
      return "vdso";
    case model::ModuleKind::kAnonymous:
      return "anonymous";
    case model::ModuleKind::kNames:
      return "names";
  }
  return "unknown";
}

// Processes in which the heap tracer, or a part of it, stayed when the recording ended.
Json left_json(const model::Profile& profile) {
  Json rows = Json::array();
  for (const model::LeftChanged& left : model::left_changed_of(profile.meta.facts))
    rows.push_back({{"pid", left.pid},
                    {"reason", to_string(left.reason)},
                    {"traced_by", left.by == 0 ? Json() : Json(left.by)},
                    {"places", left.places},
                    {"bytes", left.bytes},
                    {"mapped_bytes", left.mapped_bytes},
                    {"text", left_sentence(left, profile)}});
  return rows;
}

// Limits of processes: mappings, descriptors and so on, each at the highest value seen.
Json limits_json(const model::Profile& profile) {
  Json rows = Json::array();
  for (const model::LimitsOfProcess& of : model::counted_limits_of(profile.meta.facts))
    for (const model::CountedLimit& limit : of.limits)
      rows.push_back({{"pid", of.pid},
                      {"kind", to_string(limit.kind)},
                      {"used", limit.used},
                      {"limit", limit.limit},
                      {"near", limit.share() >= model::kNearLimit}});
  return rows;
}

Json quality_json(const Report& report) {
  const model::Quality& quality = report.profile->quality;
  const QualityView& view = report.quality;
  Json json;
  json["samples"] = view.samples;
  json["expected_samples"] = quality.expected_samples > 0 ? Json(quality.expected_samples) : Json();
  json["received_percent"] = optional_percent(view.received_share);
  json["lost"] = view.lost;
  json["lost_percent"] = percent_of(view.lost_share);
  json["lost_by_cause"] = {
      {"ring_full", quality.lost_ring_full}, {"stack", quality.lost_stack}, {"disk", quality.lost_disk}};
  json["lost_records"] = quality.lost_records;
  json["throttled_times"] = quality.lost_throttled;
  json["complete_percent"] = optional_percent(view.complete_share);
  json["early_ends"] = Json::array();
  for (const EarlyEndRow& end : view.early_ends) {
    json["early_ends"].push_back(
        {{"reason", describe_walk_end(end.reason)}, {"module", end.module}, {"count", end.count}});
  }
  json["kernel_truncated"] = quality.kernel_truncated;
  json["table_overflows"] = quality.table_overflows;
  json["unnamed_percent"] = percent_of(view.unnamed_share);
  json["stolen_percent"] = optional_percent(view.stolen_share);
  json["profiler_cpu_s"] = static_cast<double>(quality.profiler_cpu_ns) / 1e9;
  if (const auto& cost = view.own_cost)
    json["profiler_cpu_by_use_s"] = {
        {"start", cost->start_s}, {"recording", cost->recording_s}, {"naming", cost->naming_s}};
  else
    json["profiler_cpu_by_use_s"] = Json();
  json["profiler_rss_bytes"] = quality.profiler_rss_bytes;
  json["kernel_memory_bytes"] = quality.kernel_memory_bytes;
  json["bpf_s"] = static_cast<double>(quality.bpf_ns) / 1e9;
  json["bpf_runs"] = quality.bpf_runs;
  json["target_stops"] = quality.target_stops;
  json["target_stop_max_s"] = static_cast<double>(quality.target_stop_ns) / 1e9;
  if (report.waits) {
    json["waits"] = {{"walked", quality.waits},
                     {"filtered", quality.filtered_waits},
                     {"unwalked", quality.unwalked_waits},
                     {"unwalked_s", static_cast<double>(quality.unwalked_ns) / 1e9},
                     {"lost", quality.lost_waits},
                     {"switches", quality.switches},
                     {"switch_s", static_cast<double>(quality.switch_ns) / 1e9}};
  }
  json["truncated"] = quality.truncated;
  json["left_changed"] = left_json(*report.profile);
  json["findings"] = Json::array();
  for (const Complaint& finding : complaints_of(report)) {
    json["findings"].push_back(
        {{"text", finding.text}, {"remedy", finding.remedy}, {"certain", finding.is_certain}});
  }
  json["notes"] = quality.notes;
  return json;
}

Json function_json(const CallTree& tree, const FunctionRow& row) {
  Json json;
  json["name"] = tree.names[row.name];
  json["module"] = tree.modules[row.module].name;
  json["kind"] = kind_word(row.kind);
  json["self"] = row.self;
  json["total"] = row.total;
  json["self_percent"] = percent_of(share(tree, row.self));
  json["total_percent"] = percent_of(share(tree, row.total));
  json["self_percent_interval"] = interval_percent(tree, row.self);
  json["total_percent_interval"] = interval_percent(tree, row.total);
  return json;
}

Json neighbour_rows(const CallTree& tree, const std::vector<NeighbourRow>& rows, std::int64_t whole,
                    std::size_t top) {
  Json json = Json::array();
  for (const NeighbourRow& row : rows) {
    if (top != 0 && json.size() == top) break;
    json.push_back(
        {{"name", tree.names[row.name]},
         {"module", tree.modules[row.module].name},
         {"kind", kind_word(row.kind)},
         {"value", row.value},
         {"percent",
          whole == 0 ? 0.0 : 100.0 * static_cast<double>(row.value) / static_cast<double>(whole)}});
  }
  return json;
}

std::string_view row_kind(TreeRowKind kind) {
  return kind == TreeRowKind::kCall ? "call" : kind == TreeRowKind::kChain ? "chain" : "rest";
}

// Of call trees: depth first, each below its caller. Shares are those of the root's total.
Json call_rows_json(const CallTree& tree, const CallRows& rows) {
  Json json = Json::array();
  for (const CallRow& row : rows.rows) {
    Json one;
    one["depth"] = row.row.depth;
    one["row"] = row_kind(row.row.kind);
    if (row.row.kind == TreeRowKind::kCall) {
      one["name"] = tree.names[row.call.name];
      one["module"] = tree.modules[row.call.module].name;
      one["kind"] = kind_word(row.call.kind);
      one["own"] = row.own;
      one["file"] = row.place.file;
      one["line"] = row.place.line;
      one["recursions"] = row.call.deep - 1;
    } else {
      one["calls"] = row.row.count;
    }
    one["self"] = row.row.self;
    one["total"] = row.row.total;
    one["percent"] = rows.total == 0
                         ? 0.0
                         : percent_of(static_cast<double>(row.row.total) / static_cast<double>(rows.total));
    json.push_back(std::move(one));
  }
  return json;
}

Json groups_json(const StackGroups& groups, std::size_t top) {
  Json json;
  json["by"] = to_string(groups.by);
  json["rows_total"] = groups.rows.size();
  json["rows"] = Json::array();
  const auto percent = [&](std::int64_t value) {
    return groups.whole == 0 ? 0.0
                             : percent_of(static_cast<double>(value) / static_cast<double>(groups.whole));
  };
  for (const GroupRow& row : groups.rows) {
    if (top != 0 && json["rows"].size() == top) break;
    Json one{{"name", row.name}};
    if (groups.by == GroupBy::kLine) one["function"] = row.function;
    one["self"] = row.self;
    one["total"] = row.total;
    one["self_percent"] = percent(row.self);
    one["total_percent"] = percent(row.total);
    json["rows"].push_back(std::move(one));
  }
  return json;
}

Json neighbours_json(const CallTree& tree, const NeighboursOf& of, bool callers, std::size_t top) {
  const std::vector<NeighbourRow>& rows = callers ? of.around.callers : of.around.callees;
  Json json;
  json["pattern"] = of.pattern;
  json["matched"] = of.around.matched;
  json["self"] = of.around.self;
  json["total"] = of.around.total;
  json["rows_total"] = rows.size();
  json[callers ? "callers" : "callees"] = neighbour_rows(tree, rows, of.around.total, top);
  json["chains"] = call_rows_json(tree, of.chains);
  return json;
}

Json threads_json(const Report& report) {
  Json json = Json::array();
  for (const ThreadRow& row : report.threads) {
    json.push_back({{"tid", row.tid},
                    {"pid", row.pid},
                    {"name", row.name},
                    {"samples", row.samples},
                    {"value", row.value},
                    {"percent", percent_of(share(report.tree, row.value))},
                    {"percent_interval", interval_percent(report.tree, row.value)},
                    {"cpu_s", row.cpu_ns == 0 ? Json() : Json(static_cast<double>(row.cpu_ns) / 1e9)},
                    {"from_s", row.from_s},
                    {"to_s", row.to_s}});
    if (!report.waits) continue;
    json.back()["ran_s"] = static_cast<double>(row.ran_ns) / 1e9;
    json.back()["waited_s"] = static_cast<double>(row.waited_ns) / 1e9;
    json.back()["run_queue_s"] = static_cast<double>(row.queued_ns) / 1e9;
    json.back()["waits"] = row.waits;
    json.back()["preemptions"] = row.preemptions;
  }
  return json;
}

Json modules_json(const Report& report) {
  Json json = Json::array();
  for (const ModuleRow& row : report.modules) {
    const TreeModule& module = report.tree.modules[row.module];
    json.push_back({{"name", module.name},
                    {"path", module.path},
                    {"build_id", module.build_id},
                    {"kind", kind_word(module.kind)},
                    {"symbols", to_string(module.symbols)},
                    {"symbols_path", module.symbols_path},
                    {"unnamed_percent", row.frames == 0 ? 0.0 : 100.0 * row.unnamed_frames / row.frames},
                    {"self", row.self},
                    {"total", row.total},
                    {"self_percent", percent_of(share(report.tree, row.self))},
                    {"total_percent", percent_of(share(report.tree, row.total))}});
  }
  return json;
}

Json processes_json(const Report& report) {
  Json json = Json::array();
  for (const ProcessRow& row : report.processes) {
    json.push_back({{"pid", row.pid},
                    {"parent_pid", row.parent_pid},
                    {"name", row.name},
                    {"executable", row.executable},
                    {"threads", row.threads},
                    {"samples", row.samples},
                    {"value", row.value},
                    {"percent", percent_of(share(report.tree, row.value))},
                    {"cpu_s", row.cpu_ns == 0 ? Json() : Json(static_cast<double>(row.cpu_ns) / 1e9)}});
  }
  return json;
}

Json series_json(const Report& report) {
  Json json = Json::array();
  for (const SeriesRow& row : report.series) {
    json.push_back({{"name", row.name},
                    {"unit", row.unit},
                    {"pid", row.pid},
                    {"points", row.points},
                    {"first", row.first},
                    {"last", row.last},
                    {"min", row.least},
                    {"max", row.most}});
  }
  return json;
}

Json selection_json(const Selection& selection) {
  Json json = Json::object();
  if (selection.thread) json["thread"] = *selection.thread;
  if (selection.pid) json["pid"] = *selection.pid;
  if (selection.from_ns) json["from_s"] = static_cast<double>(*selection.from_ns) * 1e-9;
  if (selection.stacks) {
    json["focus"] = selection.stacks->focus;
    json["ignore"] = selection.stacks->ignore;
    const auto texts = [](const std::vector<analysis::NamePattern>& patterns) {
      Json list = Json::array();
      for (const analysis::NamePattern& pattern : patterns) list.push_back(pattern.text());
      return list;
    };
    if (!selection.stacks->hidden.empty()) json["hide"] = texts(selection.stacks->hidden);
    if (!selection.stacks->starts.empty()) json["show_from"] = texts(selection.stacks->starts);
  }
  if (selection.asked_sizes) {
    const auto power = [](int bucket) { return bucket == 0 ? 0.0 : std::ldexp(1.0, bucket - 1); };
    json["asked_size"] = {power(selection.asked_sizes->first), power(selection.asked_sizes->end)};
  }
  if (selection.to_ns) json["to_s"] = static_cast<double>(*selection.to_ns) * 1e-9;
  return json;
}

Json allocator_cpu_json(const analysis::AllocatorCpu& cpu, std::size_t top) {
  const auto percent_of = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? Json() : Json(100 * static_cast<double>(part) / static_cast<double>(whole));
  };
  const analysis::Interval interval = cpu.interval();
  Json json;
  json["samples"] = cpu.total;
  json["percent"] = percent_of(cpu.inside, cpu.total);
  json["percent_low"] = cpu.total == 0 ? Json() : Json(100 * interval.low);
  json["percent_high"] = cpu.total == 0 ? Json() : Json(100 * interval.high);
  json["kernel_percent"] = percent_of(cpu.kernel, cpu.total);
  json["page_faults_percent"] = percent_of(cpu.page_faults, cpu.total);
  json["functions"] = Json::array();
  for (const analysis::AllocatorCpuRow& row : cpu.functions) {
    if (top != 0 && json["functions"].size() == top) break;
    json["functions"].push_back(
        {{"name", row.name}, {"module", row.module}, {"percent", percent_of(row.inside, cpu.total)}});
  }
  return json;
}

void add_functions(Json& json, const Report& report, std::size_t top) {
  json["sort"] = report.sort == SortBy::kSelf ? "self" : "total";
  json["functions_total"] = report.functions.size();
  json["functions"] = Json::array();
  for (const FunctionRow& row : report.functions) {
    if (top != 0 && json["functions"].size() == top) break;
    json["functions"].push_back(function_json(report.tree, row));
  }
}

}  // namespace

std::string to_json(const Report& report, std::size_t top, const Sections& sections) {
  const model::Profile& profile = *report.profile;
  const CallTree& tree = report.tree;
  Json json;
  json["format_version"] = kJsonVersion;
  json["target"] = profile.meta.target;
  json["engine"] = profile.meta.engine;
  json["event"] = profile.meta.event;
  json["frequency_hz"] = profile.meta.frequency_hz;
  json["start_unix_ns"] = profile.meta.start_unix_ns;
  json["duration_s"] = profile.meta.end_ns > profile.meta.start_ns ? profile.duration_s() : 0.0;
  json["facts"] = profile.meta.facts;
  json["facts"].erase(stacks::kLookFact);  // "stuck" has it in words
  const bool of_event =
      tree.metric == model::Metric::kCpu && model::names_event(profile.meta, profile.meta.event);
  json["metric"] = of_event ? profile.meta.event : std::string(model::to_string(tree.metric));
  json["unit"] = tree.unit;
  json["selection"] = selection_json(report.selection);
  json["samples"] = tree.samples;
  json["samples_filtered"] = tree.filtered;
  if (tree.tracer != 0) json["heap_tracer"] = tree.tracer;
  json["effective_samples"] = tree.effective_samples;
  json["total"] = tree.total;
  if (report.whole) json["total_of_all_stacks"] = *report.whole;
  json["cpu_s"] = report.activity.cpu_s ? Json(*report.activity.cpu_s) : Json();
  json["cpu_s_exact"] = report.activity.exact;
  json["cpus_used"] = report.activity.cpus_used() ? Json(*report.activity.cpus_used()) : Json();
  json["idle"] = report.activity.idle();
  if (const auto& unsampled = report.unsampled)
    json["could_not_be_sampled"] = {{"cpu_s", unsampled->cpu_s},
                                    {"percent", 100 * unsampled->share},
                                    {"why", unsampled->why},
                                    {"remedy", unsampled->remedy}};
  if (report.allocator_cpu && report.allocator_cpu->inside > 0)
    json["allocator_cpu"] = allocator_cpu_json(*report.allocator_cpu, top);
  json["summary"] = sentences_of(report);
  json["problem"] = problem_json(classify(report));
  json["problem"]["resources"] = resources_json(report);
  json["stuck"] = stuck_json(report);
  json["limits"] = limits_json(*report.profile);
  json["quality"] = quality_json(report);
  if (sections.has(Section::kFunctions)) add_functions(json, report, top);
  if (sections.has(Section::kThreads)) json["threads"] = threads_json(report);
  if (sections.has(Section::kModules)) json["modules"] = modules_json(report);
  if (sections.has(Section::kThreads)) json["processes"] = processes_json(report);
  if (sections.has(Section::kSeries)) json["series"] = series_json(report);
  if (report.waits) add_waits(json, *report.waits, top, sections);
  if (report.heap && sections.has_any({Section::kHeap, Section::kBlocks})) add_heap(json, *report.heap, top);
  if (report.heap_groups) add_heap_groups(json, *report.heap_groups, top);
  if (sections.has(Section::kMemory)) {
    if (report.memory) add_memory(json, *report.memory);
    if (const auto found = recorded_components(profile)) json["components"] = components_json(*found);
  }
  json["callers"] = Json::array();
  for (const NeighboursOf& of : report.callers)
    json["callers"].push_back(neighbours_json(tree, of, true, top));
  json["callees"] = Json::array();
  for (const NeighboursOf& of : report.callees)
    json["callees"].push_back(neighbours_json(tree, of, false, top));
  if (report.groups) json["groups"] = groups_json(*report.groups, top);
  if (report.direction) {
    json["call_tree_direction"] = *report.direction == TreeDirection::kCallees ? "callees" : "callers";
    json["call_tree"] = call_rows_json(tree, report.call_rows);
  }
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::present
