// Entries that were tried in a private copy, seen at work in the process for some milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/inject/live/confirmation.h"
#include "attach/inject/trial/entry_trial.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

// In the order of its entries.
std::vector<BelievedEntry> believed(const EntryTrial& trial);

// "seen at work in the process (...)", or why it was not: that leaves it as it was tried. kUnsupported: what was seen contradicts the
// trial.
Result<std::string> look_at_work(int pid, std::uint64_t bias, const elf::ElfFile& file,
                                 const EntryTrial& trial);

}  // namespace fathom::inject
