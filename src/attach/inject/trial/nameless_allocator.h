// The allocator inside of a stripped program, as one that can be traced: found by its code, tried in a private copy, and
// compared with the living process, which is only read.
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

// Of default_cache_folder(), for what the search found.
inline constexpr std::string_view kFindingFolder = "allocators";

struct NamelessProgram {
  std::int32_t pid = 0;  // runs it
  int fd = -1;           // its file, open for reading
  std::uint64_t bias = 0;
  bool may_probe = true;       // false: no copy may be started; then what is seen at work has to do
  bool at_work = false;        // it runs its program: calls may be watched (inject/live)
  std::string cache_folder{};  // finding_cache.h; "": nothing is kept
};

struct NamelessAllocator {
  allocators::Allocator allocator;  // labelled and named as that of an unstripped program would be
  // "found by its code: 6 of 48 ways into it are entries (calloc, malloc, ...): ... each behaved so when it was called in a private copy of
  // the program ..."
  std::string evidence;
};

// kJemalloc, kMimalloc and kTcmalloc only. `others`: functions of the program's other allocators that are sure. kUnsupported in any
// doubt, and why: "its quick path was put into the program's own functions".
Result<NamelessAllocator> find_nameless_allocator(allocators::Kind kind, const NamelessProgram& program,
                                                  const elf::ElfFile& file,
                                                  const std::set<ElfAddress>& others = {});

// What has no names in the file and is found by its code goes from `found.unseen` to the end of `found.allocators`; why it is not
// found is added to what is said of it. Returns the evidence of each that was added, in their order.
std::vector<std::string> find_by_code(const NamelessProgram& program, const elf::ElfFile& file,
                                      allocators::Found& found);

}  // namespace fathom::inject
