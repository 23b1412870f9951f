// A process that was forked while its parent was hooked has a copy of the hooks and of the tracer's code, for as long as it runs the
// same program. Its calls pass through, because the tracer's state is wiped and its shared memory is not inherited. So nothing in it
// shows what to restore: only the profiler of its parent knows.
#pragma once

#include <optional>
#include <span>

#include "attach/inject/tracer/journal.h"
#include "attach/inject/tracer/remains.h"
#include "base/abi/heap_tracer.h"
#include "binary/unwind/address_space.h"

namespace fathom::inject {

// What the parent's profiler knows, in its own memory.
struct ParentsTracer {
  std::span<const tracer_journal_entry> journal;
  std::span<const tracer_own_mapping> own;
  std::span<const std::uint64_t> entered;  // addresses of the tracer that slots held
  std::span<const WayBack> ways_back;
  ProcessAddress image;
};

// Takes the copies back, and returns what is left of them. nullopt: the process has no copy, or is gone. Call it when the parent is
// restored, so that a process that shares its memory (vfork) is not touched.
std::optional<Remains> restore_forked(int pid, const ParentsTracer& parent,
                                      const unwind::AddressSpace* space);

}  // namespace fathom::inject
