// The hook points of an allocator's functions: every place through which code outside of the allocator can reach
// one. Pure. A function that is reached through words in data alone (in Rust programs, one word of the GOT)
// can be taken over by writing those words; any other by changing its first instructions only.
//
// Conservative: what merely looks like a reference counts as one, as a call that is not counted would be lost
// without a word.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attach/allocators/find.h"

namespace fathom::allocators {

struct HookPoints {
  // 8-byte words that hold the function's address by a relocation inside this file, ascending.
  std::vector<ElfAddress> slots;
  // Slots that no code names directly, unlike entries of the GOT: parts of tables and structures, which a
  // program may have copied before the search.
  std::uint64_t table_slots = 0;
  // Places in code that name the function itself, calls and others; those in the allocator's own code left
  // out. In files that are not position-independent, words of data that equal its address too.
  std::uint64_t direct_references = 0;
  // Places in code that name one of the slots: calls and jumps through it, and all others,
  // which take the address out of the slot (a loop may keep it in a register) or do something unknown with
  // it.
  std::uint64_t slot_calls = 0, slot_loads = 0;
  // Where other code of the file branches into the function's first bytes but not to its very start: offsets,
  // ascending. A cold part that was split off may go back there. Such bytes must not be changed.
  std::vector<std::uint8_t> entered_at;
  // Other modules can bind to it: the slots of this file alone are then not complete.
  bool exported = false;
};

// Whether bytes in the code, here, may be a branch to there; only asked where they look like one. False: surely not.
using BranchCheck = std::function<bool(std::uint64_t at, std::uint64_t target)>;

// One for each function, in their order. One pass over the code, one over the relocations. Without a check bytes that look
// like a branch into a function's first bytes by chance count as one.
std::vector<HookPoints> hook_points_of(const elf::ElfFile& file, const Allocator& allocator,
                                       const BranchCheck& may_branch = {});

}  // namespace fathom::allocators
