// A hostile ELF file with DWARF, through all sources of names: symbol tables, PLT, libdw, line programs,
// queried at addresses all over its code. libdw is not built with sanitizers, so only its crashes and hangs
// are noticed.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fd.h"
#include "binary/symbolize/code_entries.h"
#include "binary/symbolize/line_program.h"
#include "binary/symbolize/module_symbols.h"

namespace {

using namespace fathom;
using namespace fathom::symbolize;

void ask_line_program(std::span<const std::byte> bytes) {
  auto program = LineProgram::parse({bytes, bytes, bytes}, 0, "/dir", "unit.c");
  if (!program) return;
  const std::vector<std::uint64_t> addresses = {0, 0x1000, 0x1010, 0x401000, ~std::uint64_t{0}};
  const auto first = program->find(addresses), again = program->find(addresses);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto &row = first[i], &same = again[i];
    if (row.has_value() != same.has_value()) std::abort();
    if (!row) continue;
    if (row->file != same->file || row->line != same->line) std::abort();
    program->file(row->file);
  }
}

// The first half as entries, the second half as their abbreviations.
void ask_entries(std::span<const std::byte> bytes) {
  const auto entries = CodeEntries::open({bytes.first(bytes.size() / 2), bytes.subspan(bytes.size() / 2)}, 0);
  if (!entries) return;
  for (const auto scopes : {EntryScopes::kTop, EntryScopes::kAll}) {
    const auto functions = entries->functions(scopes);
    for (std::size_t i = 0; functions && i < functions->size() && i < 8; ++i) {
      const auto calls = entries->inlined((*functions)[i], 100);
      for (std::size_t j = 0; calls && j < calls->size(); ++j)
        if ((*calls)[j].after <= j || (*calls)[j].after > calls->size()) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ask_line_program(std::as_bytes(std::span(data, size)));
  ask_entries(std::as_bytes(std::span(data, size)));
  const Fd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  Options options;
  options.debug_directories = {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  const auto symbols = ModuleSymbols::open({.path = "/srv/program", .open_path = path}, options);
  std::vector<ElfAddress> addresses;
  for (std::uint64_t address = 0x200; address < 0x400; address += 2) addresses.push_back({address});
  for (std::uint64_t address = 0; address < 0x4000; address += 61) addresses.push_back({address});
  addresses.push_back({~std::uint64_t{0}});
  if (symbols->resolve(addresses).size() != addresses.size()) std::abort();
  symbols->release_memory();
  symbols->resolve(std::span(addresses).first(3));
  return 0;
}
