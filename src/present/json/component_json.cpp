#include "present/json/component_json.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace fathom::present {
namespace {

using analysis::ComponentGrowth;
using Json = nlohmann::ordered_json;

Json slope_json(const std::optional<analysis::Slope>& slope, std::string_view unit) {
  if (!slope) return nullptr;
  return {{unit, slope->per_second}, {"low", slope->low}, {"high", slope->high}};
}

Json row_json(const ComponentGrowth& row) {
  static constexpr std::array<std::string_view, 5> kVerdicts{"not-told", "explains", "ruled-out", "unclear",
                                                             "grows"};
  const bool explains = row.verdict == analysis::ComponentVerdict::kExplains;
  const bool is_count = row.meaning == analysis::MetricMeaning::kCount;
  Json json{{"component", row.component},
            {"unit", is_count ? "count" : "bytes"},
            {"value", row.last},
            {"first", row.first}};
  json["slope"] = slope_json(row.slope, "per_s");
  json["verdict"] = kVerdicts[static_cast<std::size_t>(row.verdict)];
  json["share"] = explains ? Json(row.share) : Json();
  json["share_low"] = explains ? Json(row.share_low) : Json();
  json["share_high"] = explains ? Json(row.share_high) : Json();
  json["crates"] = row.crates;
  if (row.unusual_bytes != 0) json["unusual_from"] = row.unusual_bytes;
  if (row.heap.empty()) return json;
  json["heap"] = Json::array();
  for (const analysis::CrateHeap& heap : row.heap)
    json["heap"].push_back(
        {{"crate", heap.crate}, {"live_bytes", heap.live_bytes}, {"error", heap.error_bytes}});
  return json;
}

Json rows_json(const std::vector<ComponentGrowth>& rows) {
  Json out = Json::array();
  for (const ComponentGrowth& row : rows) out.push_back(row_json(row));
  return out;
}

}  // namespace

Json components_json(const analysis::Components& found) {
  return {{"seconds", found.seconds},
          {"memory_slope", slope_json(found.memory, "bytes_per_s")},
          {"explained_share", found.explained},
          {"components", rows_json(found.components)},
          {"allocator", rows_json(found.whole)}};
}

}  // namespace fathom::present
