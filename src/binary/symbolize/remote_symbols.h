// A module whose names are read by NameProcess. Private to this folder.
#pragma once

#include <memory>

#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/module_symbols.h"
#include "binary/symbolize/name_process.h"
#include "binary/symbolize/options.h"

namespace fathom::symbolize {

// For files and for the code of a process that has a perf map; the same names as from ModuleSymbols::open().
// `number` identifies the module within `process`, which outlives it. A module is abandoned if its reader
// dies twice, or exceeds a limit once: lost() has the reason, and there are no more names.
std::unique_ptr<ModuleSymbols> open_remote(const ModuleSource& source, const Options& options,
                                           DebugFiles& debug_files, NameProcess& process,
                                           std::uint32_t number);

}  // namespace fathom::symbolize
