// What each thread of a look waits for: from its wait's facts, the names on its stack and the words of its lock. The names must
// be in the profile by now.
#pragma once

#include "analysis/stacks/lock_words.h"
#include "analysis/stacks/look.h"
#include "model/profile.h"

namespace fathom::stacks {

// Memory of the process `pid`.
using ProcessMemory =
    std::function<bool(std::int32_t pid, std::uint64_t address, std::span<std::byte> bytes)>;

// Fills in awaited, place and idle of every thread.
void describe(const model::Profile& profile, const ProcessMemory& memory, Look& look);

// The function and line of the program's own code that the stack stands for; `function` as WaitSites names it.
Place place_of(const model::Profile& profile, analysis::WaitSites& sites, model::StackId stack);

}  // namespace fathom::stacks
