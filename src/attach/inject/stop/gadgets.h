// Where the target's code holds the instructions that system calls are borrowed from.
#pragma once

#include <optional>
#include <span>

#include "attach/inject/stop/remote_memory.h"
#include "base/address.h"
#include "base/result.h"
#include "linux/process/maps.h"

namespace fathom::inject {

// Instructions of the target that a borrowed thread runs on.
struct Gadgets {
  ProcessAddress call;                     // makes a system call, and returns if `way_back` is set
  std::optional<ProcessAddress> way_back;  // calls rt_sigreturn
};
// kUnsupported if the target holds no `syscall` instruction.
Result<Gadgets> find_gadgets(std::span<const process::MapEntry> maps, const RemoteMemory& memory);

}  // namespace fathom::inject
