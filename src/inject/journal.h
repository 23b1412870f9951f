// Taking changes of a target back by the journal in the shared memory: the same code whether we made them
// ourselves or a profiler did that is gone.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "abi/heap_tracer.h"
#include "inject/target.h"

namespace fathom::inject {

struct TakenBack {
  std::uint32_t slots = 0, entries = 0;
  std::vector<std::string> foreign;  // places that hold neither what was nor what we put there: left alone
};

// Slots first, with nobody stopped, then entries, with all threads stopped once. Entries of the journal that
// are done get in = 0; foreign ones keep it.
Result<TakenBack> take_back(Target& target, std::span<tracer_journal_entry> journal);

// The shared memory of a tracer in this process, from its maps; nullopt: there is none.
std::optional<process::MapEntry> find_shared(std::span<const process::MapEntry> maps);
// Its head, copied and checked: version, sizes and counts are what we know and can hold.
Result<std::unique_ptr<tracer_shared>> read_head(const RemoteMemory& memory, const process::MapEntry& shared);
bool profiler_lives(const tracer_shared& head);

}  // namespace fathom::inject
