#include "binary/symbolize/local_names.h"

#include "binary/symbolize/remote_symbols.h"

namespace fathom::symbolize {

LocalNames::LocalNames(const Options& options) : options_(options), debug_files_(options_) {
  if (!options_.reader.program.empty()) process_.emplace(options_.reader);
}

std::unique_ptr<ModuleSymbols> LocalNames::open(const ModuleSource& source, std::uint32_t number) {
  return process_ ? open_remote(source, options_, debug_files_, *process_, number)
                  : ModuleSymbols::open(source, options_, debug_files_);
}

}  // namespace fathom::symbolize
