// Looks at all threads, for scripts: docs/stacks.md lists the keys.
#pragma once

#include <string>
#include <vector>

#include "analysis/stacks/look.h"
#include "model/profile.h"

namespace fathom::present {

// Every look with its verdicts and threads; the stacks of all of them stand once.
std::string stacks_json(const model::Profile& profile, const std::vector<stacks::Look>& looks);

}  // namespace fathom::present
