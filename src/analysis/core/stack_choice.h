// Stacks with a function, and stacks without one: what --focus and --ignore take; and which of their calls are shown: what
// --hide and --show-from leave. "module:NAME" and "crate:NAME" stand for all functions of a module or a crate. What a thread waited for stands on its
// stack as well, as its reader sees it: "[wait: futex]", "[run queue]", "(idle: tokio worker)".
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/core/name_pattern.h"
#include "analysis/core/wait_cause.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

// Calls that trees do not show, by patterns of names. Sums stay: what a call that is hidden cost itself is its caller's.
struct StackCuts {
  std::vector<std::string> hide;
  std::vector<std::string>
      show_from;  // stacks begin at the outermost call that fits one; those without one are left out
};

// Of one profile.
struct StackChoice {
  static constexpr char kWanted = 1, kUnwanted = 2;  // bits of marks: what fits one of `focus`, of `ignore`
  std::vector<std::string> focus, ignore;            // patterns, as they were typed
  // Texts that are the short name of several functions, as a view prints it: how many they take, by text.
  std::map<std::string, std::size_t> shared_names;
  std::vector<char> marks;                   // by row of the stacks
  std::array<char, kCauseCount> of_cause{};  // of the frame of a cause, and of its name in tables
  std::vector<char> of_idle;                 // by built-in rule: of its frame
  // What StackCuts knows about calls: bits by function, and by frame of those without a name; empty where all is shown.
  static constexpr char kHidden = 1, kStart = 2;
  std::vector<char> function_cuts, frame_cuts;
  std::vector<NamePattern> hidden, starts;
  char cut_of_cause(const std::string& frame) const;  // of what a thread waited for, as it is shown
  // Of all marks together, those of a stack and of what a thread waited for.
  bool takes(char all) const { return (all & kUnwanted) == 0 && (focus.empty() || (all & kWanted) != 0); }
};

// Stacks that have a function of one of `focus`, if there are any, and none of `ignore`. Inlined calls count, and so do the
// pseudo-names of what has no name, and where waits were recorded the causes and idle rules. What stacks are shown from is
// a focus, too. nullptr where all are empty. kUsage for a broken pattern, kNotFound for one that fits nothing in the profile.
Result<std::shared_ptr<const StackChoice>> choose_stacks(const model::Profile& profile,
                                                         const std::vector<std::string>& focus,
                                                         const std::vector<std::string>& ignore,
                                                         const StackCuts& cuts = {});

}  // namespace fathom::analysis
