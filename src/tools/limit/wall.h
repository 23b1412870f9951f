// --hold: a command that meets its limit is stopped there, looked at, and then let into the limit or given more. Version 1
// has it from the kernel (memory.oom_control): tasks of the group sleep in their page fault, but system calls that need
// memory fail with ENOMEM meanwhile. Version 2 brakes a little below the limit (memory.high) and freezes. Both change the
// program, so this is for a lab.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "tools/limit/memory_group.h"

namespace fathom::limit {

class Wall {
 public:
  // `group` outlives it.
  Wall(const MemoryGroup& group, const Limits& limits) : group_(group), limits_(limits) {}

  // Before the command runs.
  Result<> arm() const;
  // It stands at the wall now; of version 2 it is stopped by this call.
  bool met() const;
  // Lets it go: into the limit, where the kernel kills, or on with `more` bytes. Not held again.
  Result<> let_go(std::optional<std::uint64_t> more) const;

 private:
  const MemoryGroup& group_;
  Limits limits_;
};

// What it consists of, with a line for each of its largest processes, as text.
std::string describe_at_wall(const MemoryGroup& group, std::size_t width);

}  // namespace fathom::limit
