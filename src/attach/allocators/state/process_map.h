// Where in a process an allocator's records can lie: writable data of files (with what is zeroed behind them), and
// anonymous memory. Pure; from /proc/PID/maps.
#pragma once

#include <string>
#include <vector>

#include "attach/allocators/state/present_memory.h"
#include "linux/process/maps.h"

namespace fathom::allocators {

// Writable data of one file: what it stores, and the anonymous memory right behind that (.bss, and whatever the
// kernel placed there).
struct ModuleData {
  std::string path;
  AddressRange range;
};

struct ProcessMap {
  AddressRanges anonymous;             // private, of any protection; neighbours are one
  std::vector<AddressRange> writable;  // the same, each mapping by itself, and only writable ones
  std::vector<ModuleData> data;        // ascending
  AddressRange program_break;          // "[heap]"; empty: there is none
  std::vector<AddressRange>
      guarded;  // writable anonymous mappings right above one without access: threads' stacks
};

ProcessMap make_process_map(const std::vector<process::MapEntry>& entries);

}  // namespace fathom::allocators
