// Stacks with a function, and stacks without one: what --focus and --ignore take. What a thread waited for stands on its
// stack as well, as its reader sees it: "[wait: futex]", "[run queue]", "(idle: tokio worker)".
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "analysis/core/wait_cause.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

// Of one profile.
struct StackChoice {
  static constexpr char kWanted = 1, kUnwanted = 2;  // bits of marks: what fits one of `focus`, of `ignore`
  std::vector<std::string> focus, ignore;            // patterns, as they were typed
  std::vector<char> marks;                           // by row of the stacks
  std::array<char, kCauseCount> of_cause{};          // of the frame of a cause, and of its name in tables
  std::vector<char> of_idle;                         // by built-in rule: of its frame
  // Of all marks together, those of a stack and of what a thread waited for.
  bool takes(char all) const { return (all & kUnwanted) == 0 && (focus.empty() || (all & kWanted) != 0); }
};

// Stacks that have a function of one of `focus`, if there are any, and none of `ignore`. Inlined calls count, and so do the
// pseudo-names of what has no name, and where waits were recorded the causes and idle rules. nullptr where both are empty. kUsage for a broken pattern, kNotFound for one that
// fits no function of the profile.
Result<std::shared_ptr<const StackChoice>> choose_stacks(const model::Profile& profile,
                                                         const std::vector<std::string>& focus,
                                                         const std::vector<std::string>& ignore);

}  // namespace fathom::analysis
