// Where an allocator's records can be in a process: writable data of files (and the zeroed data after them),
// and anonymous memory. Pure; from /proc/PID/maps.
#pragma once

#include <string>
#include <vector>

#include "attach/allocators/state/present_memory.h"
#include "linux/process/maps.h"

namespace fathom::allocators {

// Writable data of one file: its stored part, and the anonymous memory right after it (.bss, and whatever the
// kernel placed there).
struct ModuleData {
  std::string path;
  AddressRange range;
};

struct ProcessMap {
  AddressRanges anonymous;             // private, with any protection; adjacent ones are joined
  std::vector<AddressRange> writable;  // the same, but each mapping separately, and only writable ones
  std::vector<ModuleData> data;        // ascending
  AddressRange program_break;          // "[heap]"; empty if there is none
  std::vector<AddressRange>
      guarded;  // writable anonymous mappings right above an inaccessible one: threads' stacks
};

ProcessMap make_process_map(const std::vector<process::MapEntry>& entries);

}  // namespace fathom::allocators
