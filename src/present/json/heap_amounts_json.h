// What every JSON of the heap has in common: amounts with their error, and how much of the heap is missing.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/core/heap.h"
#include "analysis/core/heap_losses.h"
#include "analysis/core/unseen_allocators.h"
#include "analysis/core/words.h"

namespace fathom::present {

// An error of 0 means the number is exact. Unknown numbers are null.
inline nlohmann::ordered_json amounts_json(const analysis::HeapAmounts& amounts, bool complete) {
  using Json = nlohmann::ordered_json;
  const auto error = [complete](const analysis::HeapAmount& amount) {
    return complete || amount.variance > 0 ? Json(amount.error()) : Json();
  };
  return {{"blocks", amounts.blocks.value},
          {"blocks_error", error(amounts.blocks)},
          {"bytes", amounts.bytes.value},
          {"bytes_error", error(amounts.bytes)}};
}

// The part of the quality block that is about losses.
inline nlohmann::ordered_json losses_json(const analysis::HeapLosses& losses) {
  using Json = nlohmann::ordered_json;
  const model::HeapExactness& exactness = losses.exactness;
  Json json = {{"events", exactness.events},
               {"complete", exactness.complete()},
               {"lost", exactness.lost()},
               {"lost_ring_full", exactness.lost_ring_full},
               {"lost_no_ring", exactness.lost_no_ring},
               {"lost_throwing", exactness.lost_throwing},
               {"lost_set_full", exactness.lost_set_full},
               {"rings_given_up", exactness.damaged_rings},
               {"switched_off", exactness.switched_off}};
  json["outages"] = Json::array();
  for (const analysis::OutageRow& outage : losses.outages)
    json["outages"].push_back({{"from_s", outage.from_s}, {"to_s", outage.to_s}});
  return json;
}

inline nlohmann::ordered_json unseen_json(const std::vector<analysis::UnseenAllocator>& unseen) {
  auto json = nlohmann::ordered_json::array();
  for (const analysis::UnseenAllocator& one : unseen)
    json.push_back({{"label", analysis::valid_utf8(one.label)},
                    {"module", analysis::valid_utf8(one.module)},
                    {"why", analysis::valid_utf8(one.why)}});
  return json;
}

}  // namespace fathom::present
