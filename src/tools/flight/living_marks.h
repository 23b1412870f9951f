// What the flight recorder noticed of a program that lives on: its triggers, with their times. Of one that died, Death has them.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/profile.h"

namespace fathom::flight {

// `text` of a report, with the newest marks after its headline; unchanged if there are none. `width` 0: long lines.
std::string with_marks(std::string text, const model::Profile& profile, std::size_t width);
// Key "flight_marks" of the JSON of a report: lines "12.3 s: REASON", oldest first. Not there if there are none.
void add_marks(nlohmann::ordered_json& json, const model::Profile& profile);

}  // namespace fathom::flight
