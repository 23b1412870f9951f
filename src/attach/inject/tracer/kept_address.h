// Whether the program has kept the address of a hook somewhere in its memory: code that takes the address of
// a function while a slot holds a hook (`config.allocate = malloc`) gets the hook's address, and may keep it
// forever. Then the tracer's code has to stay.
#pragma once

#include <cstdint>
#include <span>

#include "attach/inject/stop/remote_memory.h"
#include "linux/process/maps.h"

namespace fathom::inject {

// Limit of the search. The data of modules comes first, then small mappings before large ones: function
// pointers are in the former and between the objects of the latter.
inline constexpr std::uint64_t kKeptAddressBudget = std::uint64_t{1} << 30;

// true: some word in resident, writable, private memory is one of `addresses`. Skips stacks: live values
// there are checked while their threads are stopped, and the rest of a stack is full of old words. Stops no
// thread, and brings in no page.
bool keeps_address(int pid, const RemoteMemory& memory, std::span<const process::MapEntry> maps,
                   std::span<const std::uint64_t> addresses);

}  // namespace fathom::inject
