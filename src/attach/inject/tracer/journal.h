// Takes back changes of a target, using a journal in this process's memory: one that was kept while making
// them, or one reconstructed from the remains of a dead profiler (restoration.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/inject/stop/target.h"
#include "base/abi/heap_tracer.h"

namespace fathom::inject {

struct TakenBack {
  std::uint32_t slots = 0, entries = 0;
  std::vector<std::string> foreign;  // places that hold neither the old nor our new content: left unchanged
};

// An instruction that a jump covers: its places in the trampoline and in the function.
struct WayBack {
  std::uint64_t from = 0, to = 0;
};

// Slots first, without stopping threads (except Target::while_writable), then entries, with all threads
// stopped once. Sets in = 0 for restored entries of the journal; foreign ones keep it. A thread at the start
// of one of `ways_back` continues in the function, unless a foreign entry was found: in a stopped process it
// would never leave the trampoline.
Result<TakenBack> take_back(Target& target, std::span<tracer_journal_entry> journal,
                            std::span<const WayBack> ways_back = {});

}  // namespace fathom::inject
