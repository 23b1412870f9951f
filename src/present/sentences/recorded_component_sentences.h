// What the program's own metrics say of its memory, of a recording.
#pragma once

#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom::present {

// Empty: none were recorded, or none that a rule knows.
std::vector<std::string> recorded_component_sentences(const model::Profile& profile);

// component_headline() of a recording.
std::string recorded_component_headline(const model::Profile& profile);

}  // namespace fathom::present
