// What the functions of a mimalloc without names do, by calling them in private copies of the program, and whether they are all
// by which the program comes to it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "allocators/nameless/mimalloc_code.h"
#include "base/result.h"
#include "elf/elf_file.h"
#include "inject/trial/entry_trial.h"

namespace fathom::inject {

struct MimallocTrial {
  EntryTrial trial;
  std::size_t candidates = 0;
  std::vector<allocators::CodeRange> own_code;       // of the library, ascending and apart
  std::optional<ElfAddress> malloc, malloc_aligned;  // whether the program comes to them or not
};

// As try_entries() has it. kUnsupported in any doubt: also where the program calls something else of the library that does not
// come back, or does to blocks what is not known.
Result<MimallocTrial> try_mimalloc(int fd, const elf::ElfFile& file, allocators::nameless::MimallocCode& code,
                                   int like);

}  // namespace fathom::inject
