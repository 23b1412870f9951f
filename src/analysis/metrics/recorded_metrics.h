// The metrics of a program as a recording has them: series whose name begins with metrics::kRecordedPrefix.
#pragma once

#include <optional>

#include "analysis/metrics/components.h"
#include "model/profile.h"

namespace fathom::analysis {

// Of the process that has metrics, along with its recorded heap; nullopt: no process has any, or no rule
// knows them.
std::optional<Components> recorded_components(const model::Profile& profile,
                                              const ComponentRules& rules = ComponentRules::built_in());

}  // namespace fathom::analysis
