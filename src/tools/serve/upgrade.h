// The windows of one build of a program and of the build before it: what changed with the last upgrade.
#pragma once

#include <vector>

#include "base/result.h"
#include "tools/serve/store.h"

namespace fathom::serve {

// Those of the newest build (`after`), or those of the one before; of each at most an hour, the one next to the change. kNotFound
// where the store knows one build only. Windows in which both ran are in neither.
Result<std::vector<StoredWindow>> windows_beside_upgrade(const std::vector<StoredWindow>& windows,
                                                         bool after);

// The build id of the program that ran in it; empty: unknown, or there are several.
std::string build_id_of(const model::Profile& profile);
// Whether programs of two builds are in it.
bool has_two_builds(const model::Profile& profile);

}  // namespace fathom::serve
