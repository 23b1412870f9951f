// What of a process the heap tracer stands in for: the allocators in its modules, their functions, and how
// each is reached. Reads the modules' files only; the process is not touched.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attach/allocators/find.h"
#include "attach/inject/tracer/tracer.h"
#include "binary/symbolize/debug_files.h"
#include "model/profile.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

struct HeapTarget {
  struct AllocatorOfModule {
    allocators::Kind kind;
    std::string label;  // "jemalloc 5.3.0 (_rjem_)"
    std::string module_name;
    model::ModuleId module;
    std::vector<allocators::CodeRange> own_code;  // ELF addresses
  };
  struct UnseenOfModule {
    allocators::Unseen what;
    std::string module_name;
    model::ModuleId module;
  };
  std::vector<AllocatorOfModule> allocators;  // Hook::allocator is the place in here
  std::vector<UnseenOfModule> unseen;         // present but must not be traced
  std::vector<inject::Hook> hooks;
  std::vector<std::string> notes;  // functions that cannot be traced, and why
  // Allocators without names that are traced all the same, and by what evidence; a line each.
  std::vector<std::string> found_by_code;
  // That were looked into, and where they lie: a library that is loaded again lies elsewhere.
  std::set<std::pair<const CodeModule*, std::uint64_t>> modules;
  // Operators delete that only know a size are hooked, too: another event for each of them.
  bool sized_deletes = false;
  // Functions without names may be tried in a private copy of the program.
  bool may_probe = true;
  // The process runs its program: calls of these may be watched (inject/live).
  bool at_work = false;
  // Where what the search through their code found is kept; "": nowhere (attach/inject/trial/finding_cache.h).
  std::string cache_folder;
};

// Adds what is in modules of `mappings`, the executable ones of the process, that were not looked into yet:
// all at first, later those that the program has loaded since. True if there was such a module.
bool find_more(HeapTarget& target, std::int32_t pid, std::span<const CodeMapping> mappings,
               symbolize::DebugFiles& debug_files);

// "/usr/bin/server: jemalloc 5.3.0 is not traced: WHY (REMEDY)".
std::string text_of(const HeapTarget::UnseenOfModule& unseen);

// Takes out of `planned` all functions of allocators of which one that is essential cannot be hooked, and adds
// these allocators to `target`.unseen. One of which hooks stand already stays as it is.
void leave_out_halves(HeapTarget& target, std::vector<inject::PlannedHook>& planned);

}  // namespace fathom::session
