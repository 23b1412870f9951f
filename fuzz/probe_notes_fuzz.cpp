// A hostile file with probe notes, and the same bytes as such notes alone: the result lies within the file,
// and so do the operands of the arguments, which name existing registers.
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/arch/common/probe_operand.h"
#include "binary/elf/probe_notes.h"
#include "binary/elf/testing_elf.h"

namespace {

using namespace fathom;

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_register(unsigned number) {
  return number == PROBE_NO_REGISTER || number <= PROBE_REGISTER_PC;
}

void ask(std::span<const std::byte> bytes) {
  const auto file = elf::ElfFile::parse(bytes, "fuzz");
  if (!file) return;
  const auto notes = elf::read_probe_notes(*file);
  if (!notes) return check(notes.error().message.find('\n') == std::string::npos);
  for (const elf::ProbeNote& note : *notes) {
    check(!note.provider.empty() && !note.name.empty());
    for (const arch::ProbeOperand& operand : arch::probe_operands(note.arguments)) {
      const probe_value& value = operand.value;
      check(operand.problem.empty() == (value.kind != PROBE_VALUE_NONE));
      if (value.kind == PROBE_VALUE_NONE) continue;
      check(value.size == 1 || value.size == 2 || value.size == 4 || value.size == 8);
      check(is_register(value.base) && is_register(value.index) && value.shift <= 8);
      if (value.kind == PROBE_VALUE_REGISTER) check(value.base < PROBE_REGISTER_PC);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  ask(bytes);
  elf::testing::ElfBuilder builder(ET_EXEC);
  builder.segment(PT_LOAD, PF_R | PF_X, 0x10000, builder.blob(elf::testing::Bytes(0x400)));
  builder.section(".note.stapsdt", SHT_NOTE, 0, 0, builder.blob({bytes.begin(), bytes.end()}));
  ask(builder.build());
  return 0;
}
