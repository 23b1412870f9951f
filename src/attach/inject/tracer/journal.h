// Taking changes of a target back by a journal in our own memory: one that we kept while we made them, or one
// that was made of what a profiler left that is gone (restoration.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/inject/stop/target.h"
#include "base/abi/heap_tracer.h"

namespace fathom::inject {

struct TakenBack {
  std::uint32_t slots = 0, entries = 0;
  std::vector<std::string> foreign;  // places that hold neither what was nor what we put there: left alone
};

// An instruction that a jump covers, where it stands in the trampoline and in the function.
struct WayBack {
  std::uint64_t from = 0, to = 0;
};

// Slots first, with nobody stopped (but Target::while_writable), then entries, with all threads stopped once. Entries of the journal that
// are done get in = 0; foreign ones keep it. A thread at the beginning of one of `ways_back` goes on in the function,
// unless a foreign entry was met: in a process that is stopped it would not leave the trampoline by itself.
Result<TakenBack> take_back(Target& target, std::span<tracer_journal_entry> journal,
                            std::span<const WayBack> ways_back = {});

}  // namespace fathom::inject
