// The metrics of a program as a recording has them: series whose name begins with metrics::kRecordedPrefix.
#pragma once

#include <optional>

#include "analysis/metrics/components.h"
#include "model/profile.h"

namespace fathom::analysis {

// Of the process that has metrics, beside what its recorded heap says; nullopt: none has, or none that a rule knows.
std::optional<Components> recorded_components(const model::Profile& profile,
                                              const ComponentRules& rules = ComponentRules::built_in());

}  // namespace fathom::analysis
