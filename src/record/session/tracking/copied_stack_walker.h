// Walks stacks that came as copies: those of the perf engine, and those that the walker in the kernel copied because it did not
// know the mapping of their code yet. They arrive in the order of time together with the mappings, so the process table holds the
// mappings of that time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "record/session/tracking/copied_walk.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/stack_number.h"

namespace fathom::session {

class CopiedStackWalker {
 public:
  // Modules of `processes` must have kept their tables.
  explicit CopiedStackWalker(const ProcessTable& processes) : processes_(processes) {}

  // Fills in the user frames and the end.
  void walk(const sources::StackCopied& copied, sources::StackSeen& seen) {
    walk_copied(space_of(seen.pid), copied, seen);
  }

  void walk(const sources::CopiedStackSample& copied, sources::StackSeen& seen,
            sources::StackSample& sample) {
    seen.time_ns = sample.time_ns = copied.time_ns;
    seen.pid = sample.pid = copied.pid;
    sample.tid = copied.tid;
    sample.cpu = copied.cpu;
    seen.kernel = copied.kernel;
    seen.end = WALK_NO_TABLE;
    if (!copied.has_user)
      seen.end = WALK_EXITING;
    else if (!processes_.mappings(copied.pid).empty())
      walk_copied(space_of(copied.pid), copied, seen);
    seen.stack_id = sample.stack_id = stack_number(seen, processes_.mappings_version(copied.pid));
    sample.end = seen.end;
  }

  // The process is gone.
  void forget(std::int32_t pid) { spaces_.erase(pid); }
  std::size_t remembered() const { return spaces_.size(); }

 private:
  struct Space {
    std::uint64_t version = 0;
    unwind::AddressSpace space;
  };
  const unwind::AddressSpace& space_of(std::int32_t pid) {
    static const unwind::AddressSpace kNothing;
    const std::uint64_t version = processes_.mappings_version(pid);
    if (version == 0) return kNothing;
    Space& known = spaces_[pid];
    if (known.version != version) known = {version, address_space_of(processes_.mappings(pid))};
    return known.space;
  }

  const ProcessTable& processes_;
  std::map<std::int32_t, Space> spaces_;
};

}  // namespace fathom::session
