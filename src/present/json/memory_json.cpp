#include "present/json/memory_json.h"
#include "present/json/or_null.h"
#include "present/sentences/memory_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

using Json = nlohmann::ordered_json;

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

Json sharing_json(const Sharing& sharing) {
  return {{"private_clean_bytes", sharing.private_clean},
          {"private_dirty_bytes", sharing.private_dirty},
          {"shared_clean_bytes", sharing.shared_clean},
          {"shared_dirty_bytes", sharing.shared_dirty},
          {"pss_bytes", sharing.proportional}};
}

}  // namespace

void add_memory(nlohmann::ordered_json& json, const RssBreakdown& breakdown) {
  Json all;
  all["at_s"] = breakdown.at_s;
  all["to_end_s"] = or_null(breakdown.to_end_s);
  all["processes"] = breakdown.processes;
  all["summary"] = sentences_of(breakdown);
  all["heap_traced"] = breakdown.traced;
  all["split"] = breakdown.split;
  all["rss_bytes"] = breakdown.rss;
  all["anonymous_bytes"] = breakdown.anonymous;
  all["file_bytes"] = breakdown.file;
  all["shared_bytes"] = breakdown.shared;
  all["virtual_bytes"] = breakdown.virtual_bytes;
  all["swap_bytes"] = breakdown.swap;
  all["huge_bytes"] = breakdown.huge;
  all["huge_file_bytes"] = breakdown.huge_file;
  all["lazy_free_bytes"] = or_null(breakdown.lazy_free);
  all["page_table_bytes"] = or_null(breakdown.page_tables);
  all["cgroup_bytes"] = or_null(breakdown.cgroup);
  all["sharing"] = breakdown.sharing ? sharing_json(*breakdown.sharing) : Json();
  all["live_blocks"] = breakdown.live_blocks;
  all["live_bytes"] = breakdown.live_bytes;
  all["live_is_bound"] = breakdown.live_is_bound;
  all["overestimated_bytes"] = breakdown.overestimated;
  all["explained_bytes"] = breakdown.explained.value;
  all["explained_error"] = breakdown.explained.error();
  all["coverage_percent"] = breakdown.traced ? Json(breakdown.coverage * 100) : Json();
  all["coverage_interval_percent"] =
      breakdown.traced ? Json::array({breakdown.coverage_low * 100, breakdown.coverage_high * 100}) : Json();
  all["earlier_at_most_bytes"] = or_null(breakdown.earlier_at_most);
  all["rounding_bytes"] = or_null(breakdown.rounding);
  all["parts"] = Json::array();
  for (const MemoryPart& part : breakdown.parts)
    all["parts"].push_back({{"part", part.key},
                            {"label", label_of(part, breakdown.traced)},
                            {"bytes", part.bytes.value},
                            {"error", part.bytes.error()},
                            {"anonymous", part.anonymous},
                            {"ranges", part.ranges}});
  all["ranges"] = Json::array();
  for (const MemoryRangeRow& row : breakdown.ranges) all["ranges"].push_back(range_json(row));
  all["file_caches"] = Json::array();
  for (const FileCacheRow& row : breakdown.file_caches)
    all["file_caches"].push_back({{"path", row.path},
                                  {"pid", row.pid},
                                  {"file_bytes", row.size},
                                  {"cached_bytes", row.cached},
                                  {"first_cached_bytes", row.cached_first},
                                  {"most_cached_bytes", row.cached_most},
                                  {"dirty_bytes", or_null(row.dirty)},
                                  {"recently_evicted_bytes", or_null(row.evicted)}});
  json["memory"] = std::move(all);
}

}  // namespace fathom::present
