#include "present/json/problem_json.h"

#include <string_view>

#include "analysis/core/words.h"
#include "analysis/summary/resource_growth.h"
#include "present/sentences/stacks_sentences.h"
#include "present/sentences/stuck_sentences.h"

namespace fathom::present {
namespace {

using analysis::MemoryProblemKind;
using analysis::ProblemKind;
using Json = nlohmann::ordered_json;

std::string_view id_of(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kUnknown:
      return "unknown";
    case ProblemKind::kMixed:
      return "mixed";
    case ProblemKind::kIdle:
      return "idle";
    case ProblemKind::kCpu:
      return "cpu";
    case ProblemKind::kMemory:
      return "memory";
    case ProblemKind::kCpuAndMemory:
      return "cpu-and-memory";
    case ProblemKind::kDisk:
      return "disk";
    case ProblemKind::kPeers:
      return "peers";
    case ProblemKind::kLocks:
      return "locks";
    case ProblemKind::kRunQueue:
      return "run-queue";
    case ProblemKind::kCpuAndRunQueue:
      return "cpu-and-run-queue";
    case ProblemKind::kSleep:
      return "sleep";
    case ProblemKind::kUnended:
      return "unended";
  }
  return "unknown";
}

std::string_view id_of(MemoryProblemKind kind) {
  switch (kind) {
    case MemoryProblemKind::kNone:
      return "none";
    case MemoryProblemKind::kLeak:
      return "leak";
    case MemoryProblemKind::kGrows:
      return "grows";
    case MemoryProblemKind::kHeld:
      return "held";
    case MemoryProblemKind::kChurn:
      return "churn";
  }
  return "none";
}

}  // namespace

nlohmann::ordered_json problem_json(const analysis::ProblemClass& problem) {
  Json json = {{"kind", id_of(problem.kind)}};
  const auto part = [&](double share) { return problem.waits_known ? Json(share * 100) : Json(); };
  json["busy_percent"] = part(problem.busy);
  json["ran_percent"] = part(problem.ran);
  json["disk_percent"] = part(problem.disk);
  json["memory_percent"] = part(problem.memory);
  json["peers_percent"] = part(problem.peers);
  json["locks_percent"] = part(problem.locks);
  json["slept_percent"] = part(problem.slept);
  json["unended_percent"] = part(problem.unended);
  json["queued_percent"] = part(problem.queued);
  json["throttled_percent"] = part(problem.throttled);
  json["contended_percent"] = part(problem.contended);
  json["also"] = Json::array();
  for (const analysis::FurtherKind& also : problem.also) json["also"].push_back(id_of(also.kind));
  json["memory_kind"] = id_of(problem.memory_problem.kind);
  json["memory_growth_bytes_per_s"] =
      problem.memory_problem.per_s > 0 ? Json(problem.memory_problem.per_s) : Json();
  const auto& touch = problem.memory_problem.first_touch;
  json["memory_touched_by"] = touch ? Json(touch->site) : Json();
  return json;
}

nlohmann::ordered_json resources_json(const analysis::Report& report) {
  Json rows = Json::array();
  for (const analysis::ResourceGrowth& growth :
       analysis::find_resource_growth(*report.profile, report.selection))
    rows.push_back({{"resource", analysis::to_string(growth.resource)},
                    {"pid", growth.pid},
                    {"per_s", growth.per_s},
                    {"first", growth.first},
                    {"last", growth.last},
                    {"limit", growth.limit != 0 ? Json(growth.limit) : Json()},
                    {"left_s", growth.left_s ? Json(*growth.left_s) : Json()},
                    {"kind", growth.kind.empty() ? Json() : Json(analysis::valid_utf8(growth.kind))},
                    {"made_by", growth.maker ? Json(analysis::valid_utf8(growth.maker->site)) : Json()}});
  return rows;
}

nlohmann::ordered_json stuck_json(const analysis::Report& report) {
  Json rows = Json::array();
  const std::vector<StuckSentence> sentences = stuck_sentences(report);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const stacks::Verdict& verdict = report.stuck.verdicts[i];
    Json tids = Json::array(), lines = Json::array();
    for (const std::size_t row : verdict.threads) tids.push_back(report.stuck.threads[row].tid);
    for (const std::string& line : sentences[i].lines) lines.push_back(analysis::valid_utf8(line));
    rows.push_back({{"finding", to_string(verdict.finding)},
                    {"text", analysis::valid_utf8(sentences[i].text)},
                    {"lines", std::move(lines)},
                    {"threads", std::move(tids)}});
  }
  return rows;
}

}  // namespace fathom::present
