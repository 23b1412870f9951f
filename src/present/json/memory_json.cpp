#include "present/json/memory_json.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json range_json(const MemoryRangeRow& row) {
  return {{"kind", row.kind},
          {"name", row.name},
          {"allocator", row.allocator},
          {"ranges", row.ranges},
          {"virtual_bytes", row.virtual_bytes},
          {"rss_bytes", row.rss_bytes},
          {"anonymous_bytes", row.anonymous_bytes},
          {"swap_bytes", row.swap_bytes},
          {"huge_bytes", row.huge_bytes},
          {"live_blocks", row.live_blocks},
          {"live_bytes", row.live_bytes},
          {"live_resident_bytes", row.live_resident.value},
          {"live_resident_error", row.live_resident.error()}};
}

}  // namespace

void add_memory(nlohmann::ordered_json& json, const MemoryBridge& bridge) {
  Json all;
  all["at_s"] = bridge.at_s;
  all["to_end_s"] = or_null(bridge.to_end_s);
  all["processes"] = bridge.processes;
  all["summary"] = bridge.summary;
  all["heap_traced"] = bridge.traced;
  all["split"] = bridge.split;
  all["rss_bytes"] = bridge.rss;
  all["anonymous_bytes"] = bridge.anonymous;
  all["file_bytes"] = bridge.file;
  all["shared_bytes"] = bridge.shared;
  all["virtual_bytes"] = bridge.virtual_bytes;
  all["swap_bytes"] = bridge.swap;
  all["huge_bytes"] = bridge.huge;
  all["huge_file_bytes"] = bridge.huge_file;
  all["page_table_bytes"] = or_null(bridge.page_tables);
  all["cgroup_bytes"] = or_null(bridge.cgroup);
  all["live_blocks"] = bridge.live_blocks;
  all["live_bytes"] = bridge.live_bytes;
  all["live_is_bound"] = bridge.live_is_bound;
  all["explained_bytes"] = bridge.explained.value;
  all["explained_error"] = bridge.explained.error();
  all["coverage_percent"] = bridge.traced ? Json(bridge.coverage * 100) : Json();
  all["coverage_interval_percent"] =
      bridge.traced ? Json::array({bridge.coverage_low * 100, bridge.coverage_high * 100}) : Json();
  all["earlier_at_most_bytes"] = or_null(bridge.earlier_at_most);
  all["rounding_bytes"] = or_null(bridge.rounding);
  all["parts"] = Json::array();
  for (const MemoryPart& part : bridge.parts)
    all["parts"].push_back({{"part", part.key},
                            {"label", part.label},
                            {"bytes", part.bytes.value},
                            {"error", part.bytes.error()},
                            {"anonymous", part.anonymous},
                            {"ranges", part.ranges}});
  all["ranges"] = Json::array();
  for (const MemoryRangeRow& row : bridge.ranges) all["ranges"].push_back(range_json(row));
  json["memory"] = std::move(all);
}

}  // namespace fathom::present
