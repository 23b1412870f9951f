// Removing the tracer's mappings once nothing leads into them any more. Whether a thread is still inside is
// decided with all threads stopped: by its instruction pointer, by its frames, and by the addresses of hooks
// that its registers and stack may hold (a program that loads a slot once and calls through the register).
// Its other memory is searched for them too (kept_address.h).
#pragma once

#include <span>
#include <vector>

#include "attach/inject/stop/target.h"
#include "base/abi/heap_tracer.h"
#include "binary/unwind/address_space.h"

namespace fathom::inject {

// false: somebody is or may be inside. `own` are the mappings as noted before they were made: those that are
// not there, or not ours, are passed over. The last one, the shared memory that tells of all others, goes
// last. `entered`: addresses of the tracer that slots held.
Result<bool> unmap_own(Target& target, std::span<const tracer_own_mapping> own,
                       std::span<const std::uint64_t> entered, const unwind::AddressSpace* space);

// The addresses that slots held or hold, from the image in the target.
std::vector<std::uint64_t> entered_hooks(const RemoteMemory& memory, ProcessAddress image,
                                         std::span<const tracer_own_mapping> own);

}  // namespace fathom::inject
