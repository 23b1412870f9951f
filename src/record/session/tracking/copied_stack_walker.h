// Walks the stacks that the walker in the kernel copied because it did not know the mapping of their code yet. They arrive in the
// order of time together with the mappings, so the process table holds the mappings of that time.
#pragma once

#include <cstdint>
#include <map>

#include "record/session/tracking/copied_walk.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

class CopiedStackWalker {
 public:
  // Fills in the user frames and the end. Modules of `processes` must have kept their tables.
  void walk(const ProcessTable& processes, const sources::StackCopied& copied, sources::StackSeen& seen) {
    const auto [space, is_new] = spaces_.try_emplace(seen.pid);
    if (is_new) space->second = address_space_of(processes.mappings(seen.pid));
    walk_copied(space->second, copied, seen);
  }

  // The mappings of the process changed, or it ended.
  void forget(std::int32_t pid) { spaces_.erase(pid); }

 private:
  std::map<std::int32_t, unwind::AddressSpace> spaces_;
};

}  // namespace fathom::session
