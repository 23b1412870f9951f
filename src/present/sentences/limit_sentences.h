// Limits that a process is near, other than of resident memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/counted_limit.h"
#include "model/profile.h"

namespace fathom::present {

// "48,313 of 65,530 mappings (74 %)"
std::string limit_text(const model::CountedLimit& limit);
// What fails once the limit is reached, and whose limit it is: "at the limit mmap fails (vm.max_map_count)".
std::string limit_consequence(model::CountedLimit::Kind kind);
// A command or an instruction that raises it for the process, and what else that changes.
std::string limit_remedy(const model::CountedLimit& limit, std::int32_t pid);
std::string limit_side_effects(model::CountedLimit::Kind kind);

// Of the processes of a recording that came near a limit: "Limits: server (pid 12) has 48,313 of 65,530 mappings (74 %); at the
// limit ... ". "" where none did.
std::string limits_line(const model::Profile& profile);

}  // namespace fathom::present
