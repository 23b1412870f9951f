// Functions without a name as people read them: "sqlite3@0x16a50" in tables, pictures and exports alike, where the recording
// has "sqlite3@fde+0x16a50#0123456789abcdef".
#pragma once

#include <cstdint>
#include <vector>

#include "model/profile.h"

namespace fathom::open {

// By function: the hash of its code where it has no name, 0 of all others. Empty where no code is known.
std::vector<std::uint64_t> shorten_nameless_functions(model::Profile& profile);

}  // namespace fathom::open
