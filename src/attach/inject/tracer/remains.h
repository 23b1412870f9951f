// What is left of fathom in a process that should be restored: the one answer to "is the target as it was?".
// The end of a recording checks it, the guardian checks it before it exits, and the recording stores the
// answer. Only reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/inject/stop/obstacle.h"
#include "attach/inject/stop/target.h"
#include "base/abi/heap_tracer.h"

namespace fathom::inject {

struct Remains {
  enum class Reason : std::uint8_t {
    kNone,          // the target is restored
    kDebugger,      // another process traces it, so its threads cannot be stopped
    kFrozen,        // its control group is frozen
    kChanged,       // another program has changed a hooked place since
    kThreadInside,  // a thread is in the tracer, or the target's memory holds the address of a hook
    kOther,
  };
  Reason reason = Reason::kNone;
  int by = 0;                      // kDebugger: the pid of that process
  std::uint32_t places = 0;        // in code and data that differ from before
  std::uint64_t bytes = 0;         // of these places that differ
  std::uint64_t mapped_bytes = 0;  // of fathom's mappings
  std::uint32_t descriptors = 0;   // of fathom's shared memory
  std::uint32_t masks = 0;         // threads whose signal mask could not be restored
  bool seccomp = false;            // its mode has changed

  bool nothing() const {
    return places == 0 && mapped_bytes == 0 && descriptors == 0 && masks == 0 && !seccomp;
  }
  bool operator==(const Remains&) const = default;
};

// Compares every place of `journal` byte by byte with its old content, and looks for `own` mappings, for
// descriptors of the shared memory, for signal masks and for the seccomp mode. A process that is gone, or
// that runs another program, contains nothing of fathom.
Remains find_remains(const Target& target, std::span<const tracer_journal_entry> journal,
                     std::span<const tracer_own_mapping> own);

// The same without a journal: a tracer's shared memory is mapped, or open. It is the last thing to be
// removed, so without it nothing else of a tracer is there either.
bool has_remains(int pid);

// Descriptors of a tracer's shared memory.
std::vector<int> shared_descriptors(int pid);

}  // namespace fathom::inject
