// What entries of a jemalloc without names do, by calling them in private copies of the program: a fresh copy for each question.
// Each answer is an equality that nothing else gives by chance: blocks of 100 bytes lie 112 apart, what was freed last is
// given out next, a product that overflows is refused, flags are obeyed or not.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attach/allocators/nameless/jemalloc_entries.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

struct TriedEntry {
  allocators::nameless::Candidate candidate;
  allocators::nameless::Role role;  // what it does
};

struct EntryTrial {
  std::vector<TriedEntry> entries;  // those that programs allocate and free by, ascending by address
  std::size_t rejected = 0;         // candidates that do something else
  std::size_t unknown = 0;          // of these: allocate in a way that is not known
  std::size_t copies = 0;           // processes that were started
};

// `fd` is open for reading, `file` its contents; `like` as PrivateCopy has it. kUnsupported in any doubt: what a function does
// contradicts its label, or malloc or all that frees is missing. kSystem: nothing was learnt, as no copy could be started or this
// machine was too busy.
Result<EntryTrial> try_entries(int fd, const elf::ElfFile& file,
                               const allocators::nameless::JemallocEntries& found, int like);

}  // namespace fathom::inject
