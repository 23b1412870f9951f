// Whether the program has kept the address of a hook somewhere in its memory: code that takes the address of
// a function while a slot holds a hook (`config.allocate = malloc`) takes the hook's, and may keep it for
// good. Then the tracer's code has to stay.
#pragma once

#include <cstdint>
#include <span>

#include "attach/inject/stop/remote_memory.h"
#include "linux/process/maps.h"

namespace fathom::inject {

// Most that is read. The data of modules comes first, then small mappings before large ones: function
// pointers live in the former and between the objects of the latter.
inline constexpr std::uint64_t kKeptAddressBudget = std::uint64_t{1} << 30;

// true: some word of writable, private memory that is resident is one of `addresses`. Stacks are left out:
// what lives there is looked at with their threads stopped, and the rest of them is full of old words. Nobody
// is stopped, and no page is brought in.
bool keeps_address(int pid, const RemoteMemory& memory, std::span<const process::MapEntry> maps,
                   std::span<const std::uint64_t> addresses);

}  // namespace fathom::inject
