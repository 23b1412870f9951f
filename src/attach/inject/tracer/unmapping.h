// Removes the tracer's mappings once nothing refers to them any more. Whether a thread is still inside is
// decided while all threads are stopped: by its instruction pointer, by its frames, and by addresses of hooks
// in its registers and stack (a program may load a slot once and call through the register). The rest of the
// process's memory is searched for them, too (kept_address.h).
#pragma once

#include <span>
#include <vector>

#include "attach/inject/stop/target.h"
#include "base/abi/heap_tracer.h"
#include "binary/unwind/address_space.h"

namespace fathom::inject {

// false: a thread is or may be inside. `own` are the mappings as noted before they were created: skips those
// that do not exist or are not ours. The last one, the shared memory that describes all others, is removed
// last. `entered`: addresses of the tracer that slots held.
Result<bool> unmap_own(Target& target, std::span<const tracer_own_mapping> own,
                       std::span<const std::uint64_t> entered, const unwind::AddressSpace* space);

// The addresses that slots held or hold, from the image in the target.
std::vector<std::uint64_t> entered_hooks(const RemoteMemory& memory, ProcessAddress image,
                                         std::span<const tracer_own_mapping> own);

}  // namespace fathom::inject
