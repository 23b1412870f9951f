#include "tools/watch/json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"
#include "present/json/component_json.h"
#include "tools/watch/text.h"

namespace fathom::watch {
namespace {

using Json = nlohmann::ordered_json;

// "2026-11-23T14:02:11.250Z"
std::string time_text(std::uint64_t wall_ns) {
  const auto at = static_cast<time_t>(wall_ns / 1'000'000'000);
  tm utc{};
  ::gmtime_r(&at, &utc);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", utc, wall_ns / 1'000'000 % 1000);
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json slope_json(const std::optional<analysis::Slope>& slope) {
  if (!slope) return nullptr;
  return {{"bytes_per_s", slope->per_second}, {"low", slope->low}, {"high", slope->high}};
}

Json sharing_json(const Composition* composition) {
  if (composition == nullptr || !composition->sharing) return nullptr;
  const sources::SmapsRollup& sharing = *composition->sharing;
  return {{"private_clean_bytes", sharing.private_clean},
          {"private_dirty_bytes", sharing.private_dirty},
          {"shared_clean_bytes", sharing.shared_clean},
          {"shared_dirty_bytes", sharing.shared_dirty},
          {"pss_bytes", sharing.proportional}};
}

Json limit_json(const View& view) {
  if (!view.limit) return nullptr;
  static constexpr std::array<std::string_view, 4> kKinds{"control-group", "address-space", "data",
                                                          "machine"};
  const sources::MemoryLimit& limit = *view.limit;
  Json json{{"kind", kKinds[static_cast<std::size_t>(limit.kind)]},
            {"where", analysis::valid_utf8(limit.where)},
            {"limit_bytes", limit.limit},
            {"used_bytes", limit.used},
            {"reclaimable_bytes", limit.reclaimable},
            {"room_bytes", limit.room()}};
  json["growing"] = view.anonymous_slope ? Json(view.time_left.has_value()) : Json();
  json["time_left_s"] = view.time_left ? Json(view.time_left->seconds) : Json();
  json["time_left_least_s"] = view.time_left ? Json(view.time_left->least) : Json();
  json["time_left_most_s"] = view.time_left ? Json(view.time_left->most) : Json();
  return json;
}

Json group_json(const View& view) {
  const auto& group = view.look.limits.group;
  if (!group) return nullptr;
  return {{"version", group->version},
          {"path", analysis::valid_utf8(group->path)},
          {"used_bytes", group->used},
          {"anonymous_bytes", group->memory.anonymous},
          {"page_cache_bytes", group->memory.page_cache},
          {"kernel_bytes", or_null(group->memory.kernel)},
          {"page_table_bytes", or_null(group->memory.page_tables)},
          {"kernel_stack_bytes", or_null(group->memory.kernel_stacks)},
          {"slab_bytes", or_null(group->memory.slab)}};
}

// Values that the kernel does not report are null.
Json file_json(const sources::CachedFile& file) {
  const sources::CacheUse& cache = file.cache;
  const bool known = cache.way != sources::CacheWay::kUnknown,
             all = cache.way == sources::CacheWay::kCachestat;
  Json json{{"path", analysis::valid_utf8(file.path)},
            {"database", file.database.empty() ? Json() : Json(file.database)},
            {"files", file.files},
            {"file_bytes", file.file_bytes},
            {"mapped_bytes", file.mapped},
            {"resident_bytes", file.resident}};
  json["cached_bytes"] = known ? Json(cache.cached) : Json();
  json["dirty_bytes"] = all ? Json(cache.dirty) : Json();
  json["writeback_bytes"] = all ? Json(cache.writeback) : Json();
  json["evicted_bytes"] = all ? Json(cache.evicted) : Json();
  json["recently_evicted_bytes"] = all ? Json(cache.recently_evicted) : Json();
  json["source"] = to_string(cache.way);
  json["whole"] = cache.whole;
  if (!known) json["reason"] = analysis::valid_utf8(cache.reason);
  return json;
}

Json metrics_json(const MetricsView& view) {
  Json json{{"source", analysis::valid_utf8(view.source)},
            {"problem", view.problem.empty() ? Json() : Json(analysis::valid_utf8(view.problem))}};
  json.update(present::components_json(view.components));
  return json;
}

std::string dump(const Json& json) {
  return analysis::printable_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// The parts that a row has, each the sum over the kinds behind it.
struct Column {
  std::string_view name;
  std::vector<std::string_view> kinds;
};
const std::vector<Column>& part_columns() {
  static const std::vector<Column> kColumns{
      {"heap_bytes", {"heap", "heap-live", "heap-free"}},
      {"anonymous_unknown_bytes", {"anonymous", "not-split", "mapped"}},
      {"stack_bytes", {"thread-stacks", "main-stack"}},
      {"code_bytes", {"code"}},
      {"file_mapped_bytes", {"file"}},
      {"copied_page_bytes", {"copied-pages"}},
      {"shared_memory_bytes", {"memfd", "system-v", "shm", "shared-anonymous"}},
  };
  return kColumns;
}

}  // namespace

std::string look_json(const View& view) {
  const Figures& figures = view.look.figures;
  Json json;
  json["time"] = time_text(view.look.wall_ns);
  json["pid"] = view.pid;
  json["name"] = analysis::valid_utf8(view.name);
  json["rss_bytes"] = figures.rss;
  if (const auto& composition = view.look.composition) {
    json["unexplained_bytes"] = composition->lines.unexplained_bytes;
    json["moved_during_reading"] = composition->moved;
    json["parts_rss_bytes"] = composition->lines.rss_bytes;
    json["parts_age_s"] = view.composition_age_s;
    json["parts_source"] = to_string(composition->way);
  }
  json["parts"] = Json::array();
  for (const LineView& line : view.lines)
    json["parts"].push_back({{"name", analysis::valid_utf8(line.line.name)},
                             {"kind", line.line.kind},
                             {"bytes", line.line.bytes},
                             {"virtual_bytes", line.line.virtual_bytes},
                             {"swap_bytes", line.line.swap_bytes},
                             {"huge_bytes", line.line.huge_bytes},
                             {"ranges", line.line.ranges},
                             {"reclaimable", line.line.reclaimable},
                             {"change_bytes", or_null(line.change)},
                             {"slope", slope_json(line.slope)}});
  json["files"] = Json::array();
  if (view.look.composition)
    for (const sources::CachedFile& file : view.look.composition->files)
      json["files"].push_back(file_json(file));
  json["anonymous_bytes"] = figures.anonymous;
  json["file_bytes"] = figures.file;
  json["shared_bytes"] = figures.shared;
  json["rss_peak_bytes"] = figures.rss_peak;
  json["swap_bytes"] = figures.swap;
  json["page_table_bytes"] = figures.page_tables;
  json["huge_file_bytes"] = figures.huge_files;
  json["zero_page_bytes"] = view.look.composition ? Json(view.look.composition->zero_bytes) : Json();
  json["sharing"] = sharing_json(view.look.composition.get());
  json["lazy_free_bytes"] = view.look.composition && view.look.composition->sharing
                                ? Json(view.look.composition->sharing->lazy_free)
                                : Json();
  json["virtual_bytes"] = figures.virtual_size;
  json["threads"] = figures.threads;
  json["rss_change_bytes"] = or_null(view.rss_change);
  json["rss_slope"] = slope_json(view.rss_slope);
  json["recent_rise"] = !view.recent_rise ? Json()
                                          : Json{{"bytes", view.recent_rise->bytes},
                                                 {"seconds", view.recent_rise->seconds},
                                                 {"left_s", or_null(view.recent_rise->left_s)}};
  json["minor_faults"] = figures.minor_faults;
  json["major_faults"] = figures.major_faults;
  json["minor_faults_per_s"] = or_null(view.minor_faults_per_s);
  json["major_faults_per_s"] = or_null(view.major_faults_per_s);
  json["pressure_some_share"] = or_null(view.pressure_some);
  json["pressure_of"] = view.look.pressure ? Json(view.look.pressure_of_group ? "group" : "machine") : Json();
  json["limit"] = limit_json(view);
  json["counted_limits"] = Json::array();
  for (const model::CountedLimit& limit : view.look.counted)
    json["counted_limits"].push_back(
        {{"kind", to_string(limit.kind)}, {"used", limit.used}, {"limit", limit.limit}});
  json["descriptors"] = or_null(view.look.descriptors);
  json["children"] = view.look.children ? Json(view.look.children->all) : Json();
  json["zombies"] = view.look.children ? Json(view.look.children->zombies) : Json();
  json["growing_counts"] = Json::array();
  for (const CountGrowth& growth : view.growing_counts)
    json["growing_counts"].push_back({{"resource", analysis::to_string(growth.resource)},
                                      {"per_s", growth.per_s},
                                      {"now", growth.now},
                                      {"limit", growth.limit != 0 ? Json(growth.limit) : Json()},
                                      {"left_s", or_null(growth.left_s)}});
  json["group"] = group_json(view);
  if (view.metrics) json["metrics"] = metrics_json(*view.metrics);
  json["own"] = {
      {"cpu_share", view.own_cpu_share},
      {"rss_bytes", view.own_rss},
      {"reading_cpu_ms",
       view.look.composition ? static_cast<double>(view.look.composition->took_ns) * 1e-6 : 0.0},
      {"longest_call_ms",
       view.look.composition ? static_cast<double>(view.look.composition->longest_call_ns) * 1e-6 : 0.0}};
  json["missing"] = view.missing;
  return dump(json);
}

std::string ending_json(std::int32_t pid, const std::string& name, const std::string& how,
                        std::uint64_t last_rss, std::uint64_t wall_ns) {
  return dump({{"time", time_text(wall_ns)},
               {"pid", pid},
               {"name", analysis::valid_utf8(name)},
               {"ended", how},
               {"last_rss_bytes", last_rss}});
}

std::string mappings_json(std::int32_t pid, const std::string& name,
                          std::span<const WatchedMapping> mappings) {
  Json json{{"pid", pid}, {"name", analysis::valid_utf8(name)}};
  json["mappings"] = Json::array();
  for (const WatchedMapping& watched : mappings) {
    const sources::JudgedMapping& judged = watched.judged;
    const process::MapEntry& entry = judged.mapping.entry;
    json["mappings"].push_back(
        {{"start", fmt::format("{:x}", entry.start.value)},
         {"end", fmt::format("{:x}", entry.end.value)},
         {"mode", fmt::format("{}{}{}{}", entry.readable ? 'r' : '-', entry.writable ? 'w' : '-',
                              entry.executable ? 'x' : '-', entry.shared ? 's' : 'p')},
         {"name", analysis::valid_utf8(name_of(watched))},
         {"virtual_bytes", entry.size()},
         {"rss_bytes", judged.mapping.rss},
         {"anonymous_bytes", judged.mapping.anonymous},
         {"huge_bytes", judged.mapping.huge},
         {"huge_file_bytes", judged.mapping.huge_file},
         {"swap_bytes", judged.mapping.swap},
         {"pss_bytes", watched.sharing ? Json(watched.sharing->proportional) : Json()},
         {"dirty_bytes", watched.sharing ? Json(watched.sharing->dirty) : Json()},
         {"allocator", watched.allocator.empty() ? Json() : Json(analysis::valid_utf8(watched.allocator))},
         {"allocator_bytes", watched.allocator_bytes}});
    if (watched.change) json["mappings"].back()["change_bytes"] = *watched.change;
  }
  return dump(json);
}

std::string csv_head() {
  std::string head =
      "time,pid,name,rss_bytes,unexplained_bytes,anonymous_bytes,file_bytes,shared_bytes,swap_bytes,page_table_bytes";
  for (const Column& column : part_columns()) head += fmt::format(",{}", column.name);
  return head + ",minor_faults,major_faults,pressure_some_share,limit_room_bytes,time_left_s";
}

std::string csv_row(const View& view) {
  const Figures& figures = view.look.figures;
  std::string name;
  for (const char letter : analysis::printable(view.name))
    name += letter == '"' ? "\"\"" : std::string(1, letter);
  std::string row =
      fmt::format("{},{},\"{}\",{},{},{},{},{},{},{}", time_text(view.look.wall_ns), view.pid, name,
                  figures.rss, view.look.composition ? view.look.composition->lines.unexplained_bytes : 0,
                  figures.anonymous, figures.file, figures.shared, figures.swap, figures.page_tables);
  for (const Column& column : part_columns()) {
    std::uint64_t sum = 0;
    for (const LineView& line : view.lines)
      if (std::find(column.kinds.begin(), column.kinds.end(), line.line.kind) != column.kinds.end())
        sum += line.line.bytes;
    row += fmt::format(",{}", sum);
  }
  row += fmt::format(",{},{}", figures.minor_faults, figures.major_faults);
  row += view.pressure_some ? fmt::format(",{:.6f}", *view.pressure_some) : ",";
  row += view.limit ? fmt::format(",{}", view.limit->room()) : ",";
  return row + (view.time_left ? fmt::format(",{:.0f}", view.time_left->seconds) : ",");
}

}  // namespace fathom::watch
