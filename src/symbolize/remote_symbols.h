// A module whose names are read by NameProcess. Private to this folder.
#pragma once

#include <memory>

#include "symbolize/debug_files.h"
#include "symbolize/module_symbols.h"
#include "symbolize/name_process.h"
#include "symbolize/options.h"

namespace fathom::symbolize {

// For files and for the code of a process that has a perf map; the same names as of ModuleSymbols::open().
// `number` tells the module from others of `process`, which outlives it. A module whose reader dies twice, or
// once takes more than it may, is given up: lost() says why, and there are no more names.
std::unique_ptr<ModuleSymbols> open_remote(const ModuleSource& source, const Options& options,
                                           DebugFiles& debug_files, NameProcess& process,
                                           std::uint32_t number);

}  // namespace fathom::symbolize
