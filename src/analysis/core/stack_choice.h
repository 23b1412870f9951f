// Stacks with a function, and stacks without one: what --focus and --ignore take.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

// Of one profile.
struct StackChoice {
  std::vector<std::string> focus, ignore;  // patterns, as they were typed
  std::vector<char> taken;                 // by row of the stacks
};

// Stacks that have a function of one of `focus`, if there are any, and none of `ignore`. Inlined calls count, and so do the
// pseudo-names of what has no name. nullptr where both are empty. kUsage for a broken pattern, kNotFound for one that
// fits no function of the profile.
Result<std::shared_ptr<const StackChoice>> choose_stacks(const model::Profile& profile,
                                                         const std::vector<std::string>& focus,
                                                         const std::vector<std::string>& ignore);

}  // namespace fathom::analysis
