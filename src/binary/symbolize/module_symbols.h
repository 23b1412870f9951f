// The names of one module: addresses in, functions with files and lines out. Sources, in this order: DWARF
// (inlined calls, lines), .symtab, .dynsym, PLT entries, and for stripped code the bounds in .eh_frame, as
// names that stay the same from run to run; of the module itself or of the file that DebugFiles finds for it.
// For the kernel kallsyms, for code made at run time the perf map.
//
// A module that cannot be read, or lies, costs its own names and nothing else. One thread at a time; any
// thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "binary/symbolize/debug_fetcher.h"
#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/options.h"
#include "binary/symbolize/source_place.h"
#include "model/profile.h"

namespace fathom::symbolize {

class ModuleSymbols {
 public:
  // Reads the symbol tables; DWARF is read on demand. Never fails: source() and problem() report the result.
  // Keeps files open and mapped, so that names remain available after the target has gone.
  static std::unique_ptr<ModuleSymbols> open(const ModuleSource& source, const Options& options);
  // The same for many modules: `debug_files`, made from the same options, is only used inside.
  static std::unique_ptr<ModuleSymbols> open(const ModuleSource& source, const Options& options,
                                             DebugFiles& debug_files);
  virtual ~ModuleSymbols() = default;

  virtual model::SymbolSource source() const = 0;
  // The file that the names are from, if it is not the module itself.
  virtual std::string source_path() const { return {}; }
  // One line: why there are fewer names than one might expect; "" if all is well.
  virtual std::string problem() const { return {}; }
  // Checks for the files that debug information refers to, before any lookup: problem() then reports missing
  // ones.
  virtual void check() {}
  // Why there are no names any more, although there might be some: what read them was ended. "": they are
  // there.
  virtual std::string lost() const { return {}; }
  // Changes when other names may come out for the same addresses: what a cache is checked against.
  virtual std::string stamp() const { return {}; }

  // Of a Rust program: the crate of its main(), as its symbol table names it; "" for other modules.
  virtual std::string main_crate() const { return {}; }
  // What made the module (elf/compilers.h); "" if unknown.
  virtual std::string compilers() const { return {}; }

  // The module is stripped, and nothing on this machine has its names.
  virtual bool wants_debug_file() const { return false; }
  // From now on also uses names from this debug file, which is known to belong to the module.
  virtual void use_debug_file(FetchedFile) {}

  // For each address the chain of inlined functions, innermost first; the last one is the function whose code
  // it is. Empty: no name. `addresses` are lookup addresses, best sorted: neighbours share their work.
  virtual std::vector<std::vector<Name>> resolve(std::span<const ElfAddress> addresses) = 0;

  // The same as compilers know them, from DWARF alone; `addresses` are ascending.
  virtual std::vector<std::vector<SourcePlace>> resolve_places(std::span<const ElfAddress> addresses) {
    return std::vector<std::vector<SourcePlace>>(addresses.size());
  }

  // Memory that release_memory() would give back: what was read of the DWARF. It is read again when asked
  // again.
  virtual std::size_t releasable_bytes() const { return 0; }
  virtual void release_memory() {}
};

}  // namespace fathom::symbolize
