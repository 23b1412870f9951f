#include "present/json/call_table_json.h"

#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

using Json = nlohmann::ordered_json;

void add_sums(Json& json, const CallSums& sums) {
  json["calls"] = sums.calls;
  json["counted_only"] = sums.counted_only;
  json["returned"] = sums.returned;
  json["total_ns"] = sums.total_ns;
  json["mean_ns"] = sums.returned == 0
                        ? Json()
                        : Json(static_cast<double>(sums.total_ns) / static_cast<double>(sums.returned));
  json["longest_ns"] = sums.returned == 0 ? Json() : Json(sums.longest_ns);
  json["sized"] = sums.sized;
  json["bytes"] = sums.sized == 0 ? Json() : Json(sums.bytes);
}

}  // namespace

std::string to_json(const CallTable& table, const std::string& target, double duration_s, std::size_t top) {
  Json json;
  json["format_version"] = 1;
  json["target"] = valid_utf8(target);
  json["duration_s"] = duration_s;
  json["breakpoints"] = table.breakpoints ? Json(*table.breakpoints) : Json();
  json["own_ns"] = table.own_ns ? Json(*table.own_ns) : Json();
  json["notes"] = Json::array();
  for (const std::string& note : table.notes) json["notes"].push_back(valid_utf8(note));
  json["functions"] = Json::array();
  for (const CallsOfFunction& function : table.functions) {
    Json row = {{"name", valid_utf8(function.name)},
                {"module", valid_utf8(function.module)},
                {"timed", function.timed}};
    add_sums(row, function.sums);
    const auto left = function.not_returned();
    row["not_returned"] = left ? Json(*left) : Json();
    row["callers"] = Json::array();
    for (const CallsFromCaller& caller : function.callers) {
      if (top != 0 && row["callers"].size() == top) break;
      Json of = {{"name", valid_utf8(caller.name)}, {"module", valid_utf8(caller.module)}};
      add_sums(of, caller.sums);
      of["paths"] = Json::array();
      for (const CallsFromPath& path : caller.paths) {
        if (top != 0 && of["paths"].size() == top) break;
        Json each;
        each["path"] = Json::array();
        for (const std::string& name : path.path) each["path"].push_back(valid_utf8(name));
        add_sums(each, path.sums);
        of["paths"].push_back(std::move(each));
      }
      row["callers"].push_back(std::move(of));
    }
    json["functions"].push_back(std::move(row));
  }
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::present
