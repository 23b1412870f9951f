// Static probes (USDT) of files: from PROVIDER:NAME to the places for breakpoints, the counters of their
// watchers, and how to read their arguments. Pure: reads files that are already open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/arch/common/probe_operand.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"
#include "binary/probes/find.h"
#include "binary/probes/wish.h"

namespace fathom::probes {

// The compiler may have made several copies of the code with the probe in it: each has its own operands.
struct UsdtPlace {
  FileOffset offset;
  // 16 bits that the kernel increments while a breakpoint is set: the program checks them for listeners.
  std::optional<FileOffset> semaphore;
  std::vector<arch::ProbeOperand> arguments;  // no symbol is left in them
};

struct Usdt {
  std::string provider, name;
  std::vector<UsdtPlace> places;      // at least one
  std::vector<std::string> problems;  // of places that are left out, a sentence's end each
};

// All probes of that provider, or of every one; each once, in the order of the file. kMalformed where the notes are.
Result<std::vector<Usdt>> read_usdt(const elf::ElfFile& file, std::string_view provider = {});

struct FoundUsdt {
  std::size_t module = 0;  // of those that were given
  Usdt probe;
};
// The probe that the wish names. kNotFound where there is none (with those that there are), where two modules have it, or where
// the requested argument cannot be read.
Result<FoundUsdt> find_usdt(std::span<const Module> modules, const Wish& wish);

}  // namespace fathom::probes
