// Who ended the waits below each node of a call tree, for a picture's details: "woken by persistence in Wal::sync, 72 %".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

struct NodeWaker {
  std::string thread;  // its name
  std::string site;    // the code that ended the waits; "" if it was not walked
  double share = 0;    // of the time that was waited below the node, from 0 to 1
};

// By node of `tree`, which was built from `profile` with these options: the thread and code that ended most of the waiting below it.
// Without a value if no thread is known to have ended at least a tenth of it. Only a thread ends waits of some causes (a futex, a
// pipe); for others, the recorded waker is a thread that was interrupted, and is not used. Empty for a tree that is merged from the
// leaves. Stacks are found by their names, so a call that the options hide has no waker.
std::vector<std::optional<NodeWaker>> wakers_of_nodes(const model::Profile& profile, const CallTree& tree,
                                                      const TreeOptions& options);

}  // namespace fathom::analysis
