// Functions without a name as people read them: "sqlite3@0x16a50" in tables, pictures and exports alike, where the recording
// has "sqlite3@fde+0x16a50".
#pragma once

#include "model/profile.h"

namespace fathom::open {

void shorten_nameless_functions(model::Profile& profile);

}  // namespace fathom::open
