#include "binary/symbolize/module_symbols.h"

#include "binary/symbolize/file_symbols.h"
#include "binary/symbolize/named_ranges.h"

namespace fathom::symbolize {
namespace {

class NoSymbols final : public ModuleSymbols {
 public:
  model::SymbolSource source() const override { return model::SymbolSource::kNone; }
  std::vector<std::vector<Name>> resolve(std::span<const ElfAddress> addresses) override {
    return std::vector<std::vector<Name>>(addresses.size());
  }
};

}  // namespace

std::unique_ptr<ModuleSymbols> ModuleSymbols::open(const ModuleSource& source, const Options& options) {
  DebugFiles debug_files(options);
  return open(source, options, debug_files);
}

std::unique_ptr<ModuleSymbols> ModuleSymbols::open(const ModuleSource& source, const Options& options,
                                                   DebugFiles& debug_files) {
  switch (source.kind) {
    case model::ModuleKind::kFile:
      return FileSymbols::open_file(source, options, debug_files);
    case model::ModuleKind::kVdso:
      return FileSymbols::open_vdso(source, options);
    case model::ModuleKind::kKernel:
      return std::make_unique<KernelSymbols>();
    case model::ModuleKind::kAnonymous:
      return std::make_unique<PerfMapSymbols>(source.pid);
    case model::ModuleKind::kUnknown:
    case model::ModuleKind::kNames:
      break;
  }
  return std::make_unique<NoSymbols>();
}

}  // namespace fathom::symbolize
