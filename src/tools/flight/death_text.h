// A death in sentences, and as JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/flight/death.h"

namespace fathom::flight {

// "the kernel killed reth (pid 7) at the limit of 8.0 GiB of control group /x".
std::string verdict_sentence(const Death& death);
// A paragraph of at most ten lines where names are short; ends with a newline. `width` 0: long lines.
std::string death_text(const Death& death, std::size_t width);
// `text` of a report, with the paragraph after its headline.
std::string with_death(std::string text, const Death& death, std::size_t width);
// Key "death" of the JSON of a report.
void add_death(nlohmann::ordered_json& json, const Death& death);

}  // namespace fathom::flight
