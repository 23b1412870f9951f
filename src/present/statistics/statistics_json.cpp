#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"
#include "attach/allocators/state/state.h"
#include "attach/allocators/statistics/held_by.h"
#include "present/statistics/statistics_report.h"
#include "present/statistics/statistics_sentences.h"

namespace fathom::present {
namespace {

using allocators::Statistics;
using Json = nlohmann::ordered_json;  // keys in the order of the documentation

Json or_null(const std::optional<std::uint64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json one_json(const Statistics& one) {
  const allocators::AllocatorState held = allocators::held_by(one);
  Json json{{"allocator", "jemalloc"},
            {"version", one.version.empty() ? Json(nullptr) : Json(analysis::valid_utf8(one.version))},
            {"uptime_ns", or_null(one.uptime_ns)},
            {"arenas", or_null(one.arenas)},
            {"page_bytes", or_null(one.page_bytes)},
            {"allocated_bytes", or_null(one.allocated)},
            {"active_bytes", or_null(one.active)},
            {"resident_bytes", or_null(one.resident)},
            {"mapped_bytes", or_null(one.mapped)},
            {"retained_bytes", or_null(one.retained)},
            {"metadata_bytes", or_null(one.metadata)},
            {"thread_caches_bytes", or_null(one.thread_caches)},
            {"dirty_bytes", or_null(one.dirty)},
            {"muzzy_bytes", or_null(one.muzzy)},
            {"lines", Json::array()},
            {"size_classes", Json::array()},
            {"locks", Json::array()},
            {"settings", Json::object()},
            {"cut", one.cut},
            {"lines_not_read", one.unread},
            {"sentences", Json::array()}};
  for (const allocators::HeldLine& line : held.lines)
    json["lines"].push_back({{"kind", allocators::to_string(line.kind)}, {"bytes", line.bytes}});
  for (const allocators::StatisticsClass& of : one.classes)
    json["size_classes"].push_back({{"size", of.size},
                                    {"large", of.large},
                                    {"live", of.live},
                                    {"live_bytes", of.live_bytes()},
                                    {"free_bytes", of.free_bytes()},
                                    {"made", of.made},
                                    {"slabs", or_null(of.slabs)},
                                    {"blocks_in_slab", or_null(of.blocks_in_slab)},
                                    {"slab_bytes", or_null(of.slab_bytes)}});
  for (const allocators::StatisticsLock& lock : one.locks)
    json["locks"].push_back(
        {{"name", analysis::valid_utf8(lock.name)}, {"taken", lock.taken}, {"waited_ns", lock.waited_ns}});
  for (const auto& [name, value] : one.settings)
    json["settings"][analysis::valid_utf8(name)] = analysis::valid_utf8(value);
  for (const StatisticsSentence& sentence : statistics_sentences(one))
    json["sentences"].push_back({{"text", sentence.text}, {"remedies", sentence.remedies}});
  return json;
}

}  // namespace

std::string statistics_json(std::span<const Statistics> all) {
  Json json{{"version", 1}, {"allocator_statistics", Json::array()}, {"growth", Json::array()}};
  for (const Statistics& one : all) json["allocator_statistics"].push_back(one_json(one));
  for (const StatisticsSentence& sentence : growth_sentences(all)) json["growth"].push_back(sentence.text);
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::present
