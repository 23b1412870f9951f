// A hostile program with a table of Go functions, and the same bytes as such a table alone: names must lie
// within the file, functions within their bounds, and every walk through it must end.
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <span>

#include "binary/elf/go_functions.h"
#include "binary/elf/testing_elf.h"

namespace {

using namespace fathom;
using namespace fathom::elf;

void check(bool holds) {
  if (!holds) std::abort();
}

void ask(std::span<const std::byte> bytes) {
  const auto file = ElfFile::parse(bytes, "fuzz");
  if (!file) return;
  const auto table = GoFunctions::find(*file);
  if (!table) return;
  for (std::uint64_t i = 0; i < table->count() && i < 256; ++i) {
    const auto function = table->function(i);
    if (!function) continue;
    check(function->size != 0);
    (void)table->name(*function);
    (void)table->values(function->frames);
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{function->size} / 2}) {
      const auto places = table->places({function->start.value + offset}, true);
      check(places.size() <= 129);
      for (const GoPlace& place : places) check(!place.function.empty());
    }
  }
  for (std::uint64_t address = 0x10000; address < 0x10400; address += 16)
    (void)table->places({address}, (address & 16) != 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  ask(bytes);
  testing::ElfBuilder builder(ET_EXEC);
  const auto blob = builder.blob({bytes.begin(), bytes.end()});
  builder.segment(PT_LOAD, PF_R, 0x200000, blob);
  builder.segment(PT_LOAD, PF_R | PF_X, 0x10000, builder.blob(testing::Bytes(0x400)));
  builder.section(".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0x200000, blob);
  ask(builder.build());
  return 0;
}
