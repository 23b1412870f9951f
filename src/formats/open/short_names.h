// Readable names for functions without a name: "sqlite3@0x16a50" in tables, pictures and exports, for
// "sqlite3@fde+0x16a50#0123456789abcdef" in the recording.
#pragma once

#include <cstdint>
#include <vector>

#include "model/profile.h"

namespace fathom::open {

// By function: the hash of its code if it has no name, 0 for all others. Empty if no code is known.
std::vector<std::uint64_t> shorten_nameless_functions(model::Profile& profile);

}  // namespace fathom::open
