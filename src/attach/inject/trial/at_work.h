// Watches entries, which were already tried in a private copy, in the running process for some milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/inject/live/confirmation.h"
#include "attach/inject/trial/entry_trial.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::inject {

// In the order of the trial's entries.
std::vector<BelievedEntry> believed(const EntryTrial& trial);

// "seen at work in the process (...)", or why it was not: then the trial's result stands. kUnsupported: the
// calls contradict the trial.
Result<std::string> look_at_work(int pid, std::uint64_t bias, const elf::ElfFile& file,
                                 const EntryTrial& trial);

}  // namespace fathom::inject
