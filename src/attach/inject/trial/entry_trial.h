// Finds out what the entries of a jemalloc without names do, by calling them in private copies of the
// program: a new copy for each question. Each answer is an equality that does not happen by chance: blocks of
// 100 bytes are 112 apart, the most recently freed block is reused next, a product that overflows is
// rejected, flags are obeyed or not.
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
  std::vector<TriedEntry> entries;  // the ones through which programs allocate and free, by ascending address
  std::size_t rejected = 0;         // candidates that do something else
  std::size_t unknown = 0;          // of these: allocate in an unknown way
  std::size_t copies = 0;           // processes started
};

// `fd` is open for reading, `file` is its content; `like` as in PrivateCopy. kUnsupported in any doubt: a
// function's behaviour contradicts its label, or malloc or every freeing function is missing. kSystem: no
// answer, because no copy could be started or this machine was too busy.
Result<EntryTrial> try_entries(int fd, const elf::ElfFile& file,
                               const allocators::nameless::JemallocEntries& found, int like);

}  // namespace fathom::inject
