// Finds the allocator in a stripped program so that it can be traced: by its code, by trying it in a private
// copy, and by comparison with the living process, which is only read.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attach/allocators/find.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

// In default_cache_folder(), for the result of the search.
inline constexpr std::string_view kFindingFolder = "allocators";

struct NamelessProgram {
  std::int32_t pid = 0;  // the process that runs it
  int fd = -1;           // its file, open for reading
  std::uint64_t bias = 0;
  bool may_probe = true;       // false: no copy may be started; then watching the process has to be enough
  bool at_work = false;        // the process is running: calls may be watched (inject/live)
  std::string cache_folder{};  // finding_cache.h; "": no cache
};

struct NamelessAllocator {
  allocators::Allocator allocator;  // labelled and named like that of an unstripped program
  // "found by its code: 6 of 48 ways into it are entries (calloc, malloc, ...): ... each behaved so when it was called in a private copy of
  // the program ..."
  std::string evidence;
};

// kJemalloc, kMimalloc and kTcmalloc only. `others`: known functions of the program's other allocators.
// kUnsupported in any doubt, with the reason: "its quick path was put into the program's own functions".
Result<NamelessAllocator> find_nameless_allocator(allocators::Kind kind, const NamelessProgram& program,
                                                  const elf::ElfFile& file,
                                                  const std::set<ElfAddress>& others = {});

// Moves allocators without names in the file that the search finds by their code from `found.unseen` to the
// end of `found.allocators`; adds to the others why they were not found. Returns the evidence for each one
// added, in order.
std::vector<std::string> find_by_code(const NamelessProgram& program, const elf::ElfFile& file,
                                      allocators::Found& found);

}  // namespace fathom::inject
