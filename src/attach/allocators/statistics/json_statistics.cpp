#include <nlohmann/json.hpp>

#include "attach/allocators/statistics/parts.h"
#include "base/parse.h"

namespace fathom::allocators {
namespace {

using nlohmann::json;

const json& in(const json& object, const char* key) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::optional<std::uint64_t> number(const json& object, const char* key) {
  const json& value = in(object, key);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return std::nullopt;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void read_settings(const json& object, const std::string& prefix, Statistics& out) {
  if (!object.is_object()) return;
  constexpr std::size_t kMostSettings = 1000;
  for (const auto& [key, value] : object.items())
    if (out.settings.size() < kMostSettings && !value.is_object())
      out.settings.emplace_back(prefix + key, text_of(value));
}

void read_lock(const json& lock, const std::string& name, std::vector<StatisticsLock>& locks) {
  // How often was waited is not read: 5.3 writes the number of operations there.
  if (const auto waited_ns = number(lock, "total_wait_time"))
    locks.push_back({name, number(lock, "num_ops").value_or(0), *waited_ns});
}

void read_locks(const json& all, const std::string& place, std::vector<StatisticsLock>& locks) {
  if (!all.is_object()) return;
  for (const auto& [name, lock] : all.items()) read_lock(lock, place + name, locks);
}

// Use of each class stands in each arena, and what the classes are in a table for all of them.
ArenaNumbers read_arena(const json& arena, const json& known, const std::string& name) {
  ArenaNumbers out;
  out.uptime_ns = number(arena, "uptime_ns");
  out.dirty_pages = number(arena, "pdirty");
  out.muzzy_pages = number(arena, "pmuzzy");
  out.thread_caches = number(arena, "tcache_bytes");
  read_locks(in(arena, "mutexes"), name + ": ", out.locks);
  const json &bins = in(arena, "bins"), &of_bins = in(known, "bin");
  for (std::size_t i = 0; bins.is_array() && of_bins.is_array() && i < std::min(bins.size(), of_bins.size());
       ++i) {
    const auto size = number(of_bins[i], "size"), live = number(bins[i], "curregs");
    if (!size || !live) continue;
    StatisticsClass of{.size = *size, .live = *live, .made = number(bins[i], "nmalloc").value_or(0)};
    of.slabs = number(bins[i], "curslabs");
    of.blocks_in_slab = number(of_bins[i], "nregs");
    of.slab_bytes = number(of_bins[i], "slab_size");
    out.classes.emplace(*size, of);
    read_lock(in(bins[i], "mutex"), name + ": blocks of " + std::to_string(*size) + " bytes", out.locks);
  }
  const json &large = in(arena, "lextents"), &of_large = in(known, "lextent");
  for (std::size_t i = 0;
       large.is_array() && of_large.is_array() && i < std::min(large.size(), of_large.size()); ++i) {
    const auto size = number(of_large[i], "size"), live = number(large[i], "curlextents");
    if (!size || !live) continue;
    // Version 5.3 does not say in JSON how often a large block was made.
    out.classes.emplace(*size, StatisticsClass{.size = *size,
                                               .large = true,
                                               .live = *live,
                                               .made = number(large[i], "nmalloc").value_or(*live)});
  }
  return out;
}

}  // namespace

std::optional<Statistics> read_json_statistics(std::string_view text) {
  const json parsed = json::parse(text, nullptr, false);
  const json& all = in(parsed, "jemalloc");
  if (!all.is_object()) return std::nullopt;
  Statistics out;
  if (const json& version = in(all, "version"); version.is_string())
    out.version = version.get<std::string>().substr(0, version.get<std::string>().find('-'));
  read_settings(in(all, "config"), "config.", out);
  read_settings(in(all, "opt"), "opt.", out);
  const json& known = in(all, "arenas");
  out.arenas = number(known, "narenas");
  out.page_bytes = number(known, "page");
  // As they are now, where they are not as they were set at the start.
  for (const char* name : {"dirty_decay_ms", "muzzy_decay_ms"})
    if (const json& value = in(known, name); value.is_number())
      for (auto& [key, setting] : out.settings)
        if (key == std::string("opt.") + name) setting = text_of(value);
  const json& totals = in(all, "stats");
  out.allocated = number(totals, "allocated");
  out.active = number(totals, "active");
  out.metadata = number(totals, "metadata");
  out.resident = number(totals, "resident");
  out.mapped = number(totals, "mapped");
  out.retained = number(totals, "retained");
  read_locks(in(totals, "mutexes"), "", out.locks);
  ArenaTables arenas;
  const json& single = in(all, "stats.arenas").is_null() ? in(totals, "arenas") : in(all, "stats.arenas");
  if (single.is_object()) {
    for (const auto& [name, arena] : single.items()) {
      if (name == "merged")
        arenas.merged = read_arena(arena, known, "all arenas");
      else if (parse_number(name))
        arenas.single.push_back(read_arena(arena, known, "arena " + name));
    }
  }
  finish(arenas, out);
  return out;
}

}  // namespace fathom::allocators
