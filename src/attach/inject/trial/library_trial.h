// What the functions of a mimalloc or tcmalloc without names do, by calling them in private copies of the program, and whether they
// are all by which the program comes to it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "attach/allocators/nameless/library_code.h"
#include "attach/inject/trial/entry_trial.h"
#include "attach/inject/trial/questions.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

struct LibraryTrial {
  EntryTrial trial;
  std::size_t candidates = 0;
  std::vector<allocators::CodeRange> own_code;       // of the library, ascending and apart
  std::optional<ElfAddress> malloc, malloc_aligned;  // whether the program comes to them or not
};

// As try_entries() has it; `questions` as library_questions.h has them for that library. kUnsupported in any doubt: also where the
// program calls something else of the library that does not come back, or does to blocks what is not known.
Result<LibraryTrial> try_library(int fd, const elf::ElfFile& file, allocators::nameless::LibraryCode& code,
                                 std::span<const Question> questions, int like);

}  // namespace fathom::inject
