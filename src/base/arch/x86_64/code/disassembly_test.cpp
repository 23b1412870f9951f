#include "base/arch/common/disassembly.h"

#include <gtest/gtest.h>

namespace fathom::arch {
namespace {

std::vector<std::byte> machine_code(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST(Disassembly, InstructionsStandAtTheirAddressesWithTheirTargets) {
  // imul eax, edi; jnz back to the start; ret
  const auto rows = disassemble(machine_code({0x0f, 0xaf, 0xc7, 0x75, 0xfb, 0xc3}), {0x1000});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].text, "imul eax, edi");
  EXPECT_EQ(rows[0].size, 3U);
  EXPECT_FALSE(rows[0].target);
  EXPECT_EQ(rows[1].address.value, 0x1003U);
  EXPECT_EQ(rows[1].text, "jnz 0x1000");
  EXPECT_EQ(rows[1].target, ElfAddress{0x1000});
  EXPECT_EQ(rows[2].text, "ret");
}

TEST(Disassembly, BytesThatAreNoInstructionAreOneRowEach) {
  const auto rows =
      disassemble(machine_code({0x06, 0x90, 0x48}), {0});  // push es is none in 64 bits; a lone prefix
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].text, "(no instruction: 06)");
  EXPECT_EQ(rows[1].text, "nop");
  EXPECT_EQ(rows[2].text, "(no instruction: 48)");
}

TEST(Disassembly, AnyBytesAreCoveredOnceFromStartToEnd) {
  std::vector<std::byte> code;
  std::uint32_t state = 7;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 1664525 + 1013904223;
    code.push_back(static_cast<std::byte>(state >> 24));
  }
  std::uint64_t next = 0x400000;
  for (const auto& row : disassemble(code, {next})) {
    ASSERT_EQ(row.address.value, next);
    ASSERT_FALSE(row.text.empty());
    next += row.size;
  }
  EXPECT_EQ(next, 0x400000 + code.size());
}

}  // namespace
}  // namespace fathom::arch
