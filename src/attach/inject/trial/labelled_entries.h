// Entries of a jemalloc that must not be tried in a private copy of the program: uses the labels from their
// code if the program uses only labelled ones, and if watching the process confirms them. Labels are complete
// if a program reaches its allocator through the four functions of Rust.
#pragma once

#include <cstdint>
#include <string>

#include "attach/allocators/nameless/jemalloc_entries.h"
#include "attach/inject/trial/entry_trial.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

// As if they had been tried; `copies` is 0. Pure. kUnsupported: a label is missing; names it.
Result<EntryTrial> labelled_entries(const allocators::nameless::JemallocEntries& found);

// Watches them in the process for at most 3 s, and returns the result: "seen at work in the process (...)".
// kUnsupported, with the reason and a remedy: the calls contradict a label, or there were too few.
Result<std::string> confirm_labels(int pid, std::uint64_t bias, const elf::ElfFile& file,
                                   const EntryTrial& labelled);

}  // namespace fathom::inject
