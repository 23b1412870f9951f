#include "present/json/heap_leaks_json.h"

#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"
#include "present/json/heap_amounts_json.h"
#include "present/sentences/leak_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

using Json = nlohmann::ordered_json;

Json group_json(const LeakGroup& group, bool complete) {
  Json json = amounts_json(group.amounts, complete);
  json["older_than_s"] = group.youngest_s ? Json(*group.youngest_s) : Json();
  json["younger_than_s"] = group.oldest_s ? Json(*group.oldest_s) : Json();
  json["threads"] = Json::array();
  for (const std::string& thread : group.threads) json["threads"].push_back(valid_utf8(thread));
  json["frames"] = Json::array();
  for (const LeakFrame& frame : group.frames)
    json["frames"].push_back({{"function", valid_utf8(frame.function)},
                              {"module", valid_utf8(frame.module)},
                              {"file", valid_utf8(frame.file)},
                              {"line", frame.line}});
  return json;
}

}  // namespace

std::string leaks_json(const LeakReport& report, std::size_t top) {
  Json json;
  const bool complete = report.losses.complete();
  json["format_version"] = 1;
  json["target"] = valid_utf8(report.target);
  json["duration_s"] = report.duration_s;
  json["ended"] = report.ended;
  json["from_start"] = report.from_start;
  json["sampled"] = report.sampled;
  json["mean_bytes"] = report.mean_bytes == 0 ? Json() : Json(report.mean_bytes);
  json["summary"] = Json::array();
  for (const std::string& sentence : sentences_of(report)) json["summary"].push_back(valid_utf8(sentence));
  json["answer"] = to_string(report.answer);
  json["sure_blocks"] = report.sure_blocks;
  json["total"] = amounts_json(report.total, complete);
  json["shown"] = amounts_json(report.shown, complete);
  json["suppressed"] = amounts_json(report.suppressed, complete);
  json["young"] = amounts_json(report.young, complete);
  json["small"] = amounts_json(report.small, complete);
  json["mappings"] = amounts_json(report.mappings, complete);
  json["older_s"] = report.older_s;
  json["groups_total"] = report.groups.size();
  json["groups"] = Json::array();
  for (const LeakGroup& group : report.groups) {
    if (top != 0 && json["groups"].size() == top) break;
    json["groups"].push_back(group_json(group, complete));
  }
  json["suppressions"] = Json::array();
  for (const SuppressionUse& use : report.uses) {
    Json row = amounts_json(use.taken, complete);
    row["pattern"] = valid_utf8(use.suppression->pattern);
    row["file"] = use.suppression->built_in ? Json() : Json(valid_utf8(use.suppression->file));
    row["line"] = use.suppression->line;
    json["suppressions"].push_back(std::move(row));
  }
  json["unseen_allocators"] = unseen_json(report.unseen);
  json["quality"] = losses_json(report.losses);
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::present
