#include "present/json/system_calls_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"

namespace fathom::present {
namespace {

using Json = nlohmann::ordered_json;

Json sums_json(const analysis::SystemCallSums& sums) {
  return {
      {"calls", sums.calls},
      {"errors", sums.errors},
      {"total_ns", sums.total_ns},
      {"mean_ns",
       sums.calls == 0 ? Json() : Json(static_cast<double>(sums.total_ns) / static_cast<double>(sums.calls))},
      {"longest_ns", sums.longest_ns},
      {"bytes", sums.bytes}};
}

Json named_sums(const char* key, const std::string& name, const analysis::SystemCallSums& sums) {
  Json json = {{key, analysis::valid_utf8(name)}};
  json.update(sums_json(sums));
  return json;
}

template <class Rows, class Write>
Json list_of(const Rows& rows, std::size_t top, const Write& write) {
  Json list = Json::array();
  for (const auto& row : rows) {
    if (top != 0 && list.size() == top) break;
    list.push_back(write(row));
  }
  return list;
}

}  // namespace

std::string to_json(const analysis::SystemCallTable& table, const std::string& target, double duration_s,
                    std::size_t top) {
  Json json = {{"format_version", 1}, {"target", analysis::valid_utf8(target)}, {"duration_s", duration_s}};
  json["calls"] = list_of(table.calls, top, [&](const analysis::SystemCallOfAll& call) {
    Json row = named_sums("name", call.name, call.sums);
    row["walked"] = call.walked;
    row["paths"] = list_of(call.paths, top, [&](const analysis::SystemCallsFromPath& path) {
      Json of = {{"path", Json::array()}};
      for (const std::string& name : path.path) of["path"].push_back(analysis::valid_utf8(name));
      of.update(sums_json(path.sums));
      return of;
    });
    return row;
  });
  json["threads"] = list_of(table.threads, top, [&](const analysis::ThreadSystemCalls& thread) {
    Json row = named_sums("thread", thread.thread, thread.sums);
    row["pid"] = thread.pid;
    row["calls_by_name"] = list_of(thread.calls, top, [&](const analysis::SystemCallOfThread& call) {
      return named_sums("name", call.name, call.sums);
    });
    return row;
  });
  json["files"] = list_of(table.files, top, [&](const analysis::FileBytes& file) {
    return Json{{"path", analysis::valid_utf8(file.path)},
                {"read", sums_json(file.read)},
                {"written", sums_json(file.written)}};
  });
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::present
