// fathom serve for other commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/group_option.h"

namespace fathom::cli {

// Until a signal ends it. `store` empty and `frequency_hz` 0: as fathom serve has them.
Result<int> serve_targets(const std::vector<std::string>& targets, const GroupArguments& groups,
                          const std::string& store, std::uint32_t frequency_hz);

}  // namespace fathom::cli
