// Finds out what the functions of a mimalloc or tcmalloc without names do, by calling them in private copies
// of the program, and whether they are the only ones through which the program reaches it.
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
  std::vector<allocators::CodeRange> own_code;       // of the library, ascending, without overlap
  std::optional<ElfAddress> malloc, malloc_aligned;  // whether the program calls them or not
};

// Like try_entries(); `questions`: those of library_questions.h for that library. kUnsupported in any doubt:
// also if the program calls another function of the library that does not return, or does unknown things to
// blocks.
Result<LibraryTrial> try_library(int fd, const elf::ElfFile& file, allocators::nameless::LibraryCode& code,
                                 std::span<const Question> questions, int like);

}  // namespace fathom::inject
