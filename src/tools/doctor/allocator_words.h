// What the allocators of a target hold, as a table for people, as JSON for scripts, and as findings with the remedies
// that were tried.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "attach/allocators/state/state.h"
#include "tools/doctor/diagnosis.h"
#include "tools/doctor/facts.h"

namespace fathom::doctor {

// "" where the target has no allocator that is known.
std::string held_table(const TargetFacts& target);

// {"took_ns", "pages_ns", "allocators": [{"name", "layout", "module", "certainty", "reason", "lines": [...], ...}]};
// null where nothing could be read.
nlohmann::ordered_json held_json(const TargetFacts& target);

// One for each allocator that keeps much more than the program uses.
void find_about_held(const TargetFacts& target, std::vector<Finding>& findings);

}  // namespace fathom::doctor
