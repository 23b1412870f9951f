// Names from files of this machine after a recording: read as a recorder does, apart from this process where there is a
// program for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/module_symbols.h"
#include "binary/symbolize/name_process.h"
#include "binary/symbolize/options.h"

namespace fathom::symbolize {

// One thread at a time. Outlives what it opens.
class LocalNames {
 public:
  explicit LocalNames(const Options& options);
  // `number` identifies the module.
  std::unique_ptr<ModuleSymbols> open(const ModuleSource& source, std::uint32_t number);

 private:
  Options options_;
  DebugFiles debug_files_;
  std::optional<NameProcess> process_;
};

}  // namespace fathom::symbolize
