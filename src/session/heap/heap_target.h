// What of a process the heap tracer stands in for: the allocators in its modules, their functions, and how
// each is reached. Reads the modules' files only; the process is not touched.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "allocators/find.h"
#include "inject/tracer/tracer.h"
#include "model/profile.h"
#include "session/tracking/process_table.h"
#include "symbolize/debug_files.h"

namespace fathom::session {

struct HeapTarget {
  struct AllocatorOfModule {
    allocators::Kind kind;
    std::string label;  // "jemalloc 5.3.0 (_rjem_)"
    std::string module_name;
    model::ModuleId module;
    std::vector<allocators::CodeRange> own_code;  // ELF addresses
  };
  std::vector<AllocatorOfModule> allocators;  // Hook::allocator is the place in here
  std::vector<inject::Hook> hooks;
  std::vector<std::string> notes;  // what is there and cannot be traced, and why
  // That were looked into, and where they lie: a library that is loaded again lies elsewhere.
  std::set<std::pair<const CodeModule*, std::uint64_t>> modules;
  // Operators delete that only know a size are hooked, too: another event for each of them.
  bool sized_deletes = false;
};

// Adds what is in modules of `mappings`, the executable ones of the process, that were not looked into yet:
// all at first, later those that the program has loaded since. True if there was such a module.
bool find_more(HeapTarget& target, std::int32_t pid, std::span<const CodeMapping> mappings,
               symbolize::DebugFiles& debug_files);

}  // namespace fathom::session
