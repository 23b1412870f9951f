// Entries of a jemalloc that must not be tried in a private copy of the program: those that their code labels, if all that the program
// uses is labelled, and if they are seen at work in the process. Labels are complete where a program reaches its allocator by the
// four functions of Rust.
#pragma once

#include <cstdint>
#include <string>

#include "attach/allocators/nameless/jemalloc_entries.h"
#include "attach/inject/trial/entry_trial.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

// As if they had been tried; `copies` is 0. Pure. kUnsupported: a label is missing, which one.
Result<EntryTrial> labelled_entries(const allocators::nameless::JemallocEntries& found);

// Watches them in the process for 3 s at most, and says what was seen: "seen at work in the process (...)". kUnsupported: what was
// seen contradicts a label, or is too little; why, and what would help.
Result<std::string> confirm_labels(int pid, std::uint64_t bias, const elf::ElfFile& file,
                                   const EntryTrial& labelled);

}  // namespace fathom::inject
