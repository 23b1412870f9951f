// Finds instructions in the target's code for running system calls in its threads.
#pragma once

#include <optional>
#include <span>

#include "attach/inject/stop/remote_memory.h"
#include "base/address.h"
#include "base/result.h"
#include "linux/process/maps.h"

namespace fathom::inject {

// Instructions of the target that a borrowed thread executes.
struct Gadgets {
  ProcessAddress call;                     // makes a system call, and returns if `way_back` is set
  std::optional<ProcessAddress> way_back;  // calls rt_sigreturn
};
// kUnsupported if the target contains no `syscall` instruction.
Result<Gadgets> find_gadgets(std::span<const process::MapEntry> maps, const RemoteMemory& memory);

}  // namespace fathom::inject
