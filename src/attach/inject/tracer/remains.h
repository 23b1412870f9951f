// What of ours is in a process when nothing of ours should be: the one answer to "is the target as it was?". Whoever
// ends a recording asks it, the guardian asks it before it goes, and the recording keeps the answer. Reads only.
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
    kNone,          // the target is as it was
    kDebugger,      // another process traces it, so its threads cannot be stopped
    kFrozen,        // its control group is frozen
    kChanged,       // somebody else changed a hooked place since
    kThreadInside,  // a thread stands in the tracer, or its memory holds the address of a hook
    kOther,
  };
  Reason reason = Reason::kNone;
  int by = 0;                      // kDebugger: that process
  std::uint32_t places = 0;        // of code and data that do not hold what they held
  std::uint64_t bytes = 0;         // of them that differ
  std::uint64_t mapped_bytes = 0;  // of mappings of ours
  std::uint32_t descriptors = 0;   // of our shared memory
  std::uint32_t masks = 0;         // threads whose signal mask could not be given back
  bool seccomp = false;            // its mode is another one

  bool nothing() const {
    return places == 0 && mapped_bytes == 0 && descriptors == 0 && masks == 0 && !seccomp;
  }
  bool operator==(const Remains&) const = default;
};

// Compares every place of `journal` byte by byte with what stood there, and looks for `own` mappings, for descriptors of
// our shared memory, for signal masks and for the seccomp mode. A process that is gone, or that runs another program, has
// nothing of ours.
Remains find_remains(const Target& target, std::span<const tracer_journal_entry> journal,
                     std::span<const tracer_own_mapping> own);

// The same without knowing what was done there: a tracer's shared memory is mapped, or open. It is the last thing to be
// removed, so without it nothing else of a tracer is there either.
bool has_remains(int pid);

// Descriptors of a tracer's shared memory.
std::vector<int> shared_descriptors(int pid);

}  // namespace fathom::inject
