#include "symbolize/module_symbols.h"

#include "symbolize/file_symbols.h"
#include "symbolize/named_ranges.h"

namespace fathom::symbolize {
namespace {

class NoSymbols final : public ModuleSymbols {
 public:
  profile::SymbolSource source() const override { return profile::SymbolSource::kNone; }
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
    case profile::ModuleKind::kFile:
      return FileSymbols::open_file(source, options, debug_files);
    case profile::ModuleKind::kVdso:
      return FileSymbols::open_vdso(source, options);
    case profile::ModuleKind::kKernel:
      return std::make_unique<KernelSymbols>();
    case profile::ModuleKind::kAnonymous:
      return std::make_unique<PerfMapSymbols>(source.pid);
    case profile::ModuleKind::kUnknown:
    case profile::ModuleKind::kNames:
      break;
  }
  return std::make_unique<NoSymbols>();
}

}  // namespace fathom::symbolize
