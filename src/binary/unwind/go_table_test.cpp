#include "binary/unwind/go_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "binary/unwind/testing_module.h"
#include "binary/unwind/unwinder.h"

namespace fathom::unwind {
namespace {

using elf::testing::append;
using elf::testing::put;
using testing::bytes;
using testing::Bytes;
using ::testing::ElementsAre;
using testing::kCode;
using testing::rule;

constexpr std::uint64_t kTable = 0x200000;

struct GoFunction {
  std::uint32_t offset;  // from the code's start
  std::uint8_t flags;
  Bytes rows;  // differences, as the table holds them
  std::string name = {};
};

struct GoSpec {
  std::uint32_t magic = 0xfffffff1;
  std::uint64_t text = kCode;
  std::vector<GoFunction> functions;
  std::uint32_t end = 0x500;
};

Bytes table_bytes(const GoSpec& spec) {
  Bytes rows(1), entries, details;
  constexpr std::uint64_t kHeader = 8 + 8 * 8;
  Bytes names = bytes({0});  // the first one is empty
  const auto add_name = [&](const std::string& name) {
    if (name.empty()) return 0u;
    const auto at = static_cast<std::uint32_t>(names.size());
    append(names, name.c_str(), name.size() + 1);
    return at;
  };
  const std::size_t index = (spec.functions.size() * 2 + 1) * 4;
  for (const GoFunction& each : spec.functions) {
    put(entries, each.offset);
    put(entries, static_cast<std::uint32_t>(index + details.size()));
    for (const std::uint32_t word :
         {each.offset, add_name(each.name), 0u, 0u, static_cast<std::uint32_t>(rows.size()), 0u, 0u, 0u, 0u})
      put(details, word);
    if (spec.magic == 0xfffffff1) put(details, 1u);  // the first line
    append(details, bytes({0, each.flags, 0, 0}).data(), 4);
    append(rows, each.rows.data(), each.rows.size());
  }
  put(entries, spec.end);
  append(entries, details.data(), details.size());
  Bytes out;
  put(out, spec.magic);
  append(out, bytes({0, 0, 1, 8}).data(), 4);
  for (const std::uint64_t word :
       {std::uint64_t{spec.functions.size()}, std::uint64_t{0}, spec.text, kHeader, std::uint64_t{0},
        std::uint64_t{0}, kHeader + names.size(), kHeader + names.size() + rows.size()})
    put(out, word);
  append(out, names.data(), names.size());
  append(out, rows.data(), rows.size());
  append(out, entries.data(), entries.size());
  return out;
}

Table table_of(const Bytes& go_table) {
  Bytes code(0x500, std::byte{0x90});
  const Bytes signal_return = bytes({0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05});
  std::copy(signal_return.begin(), signal_return.end(), code.begin() + 0x400);
  elf::testing::ElfBuilder builder;
  const auto text = builder.blob(code);
  builder.segment(PT_LOAD, PF_R | PF_X, kCode, text);
  builder.section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kCode, text);
  const auto blob = builder.blob(go_table);
  builder.segment(PT_LOAD, PF_R, kTable, blob);
  builder.section(".gopclntab", SHT_PROGBITS, SHF_ALLOC, kTable, blob);
  const auto image = builder.build();
  return build_table(elf::ElfFile::parse(image, "hand-made").value(), {.synthesize = false, .guess = false})
      .value();
}

// 0x100: 4 bytes without a frame, 0x20 with one of 24, 4 without. 0x200 is the start of a goroutine, 0x300 goes over
// to another stack, 0x400 returns from a signal handler.
GoSpec program() {
  const Bytes plain = bytes({2, 0x64, 0});  // depth 0
  return {.functions = {{0x100, 0, bytes({2, 4, 48, 0x20, 47, 0xdc, 1, 0})},
                        {0x200, 1, plain},
                        {0x300, 2, plain},
                        {0x400, 0, plain}}};
}

TEST(GoTable, FramesAreKnownByInstruction) {
  const auto table = table_of(table_bytes(program()));
  EXPECT_EQ(table.go_functions, 4u);
  EXPECT_EQ(table.fdes, 0u);
  EXPECT_EQ(find_rule(table, {kCode + 0x100}), rule(CFA_SP, 8));
  EXPECT_EQ(find_rule(table, {kCode + 0x104}), rule(CFA_SP, 32, FP_AT_CFA, -16));
  EXPECT_EQ(find_rule(table, {kCode + 0x123}), rule(CFA_SP, 32, FP_AT_CFA, -16));
  EXPECT_EQ(find_rule(table, {kCode + 0x124}), rule(CFA_SP, 8));
  EXPECT_EQ(find_rule(table, {kCode + 0x201}), rule(CFA_END));
  EXPECT_EQ(find_rule(table, {kCode + 0x3ff}),
            rule(CFA_SIGNAL));  // one byte before what a handler returns to
}

TEST(GoTable, BelowASignalHandlerTheWalkGoesOn) {
  GoSpec spec = program();
  spec.functions[1].name = "runtime.mstart.abi0";
  spec.functions.insert(spec.functions.begin() + 2,
                        {0x280, 1, bytes({2, 4, 48, 0x60, 0}), "runtime.sigtramp.abi0"});
  const auto table = table_of(table_bytes(spec));
  EXPECT_EQ(find_rule(table, {kCode + 0x201}), rule(CFA_END));
  EXPECT_EQ(find_rule(table, {kCode + 0x281}), rule(CFA_SP, 8));
  EXPECT_EQ(find_rule(table, {kCode + 0x284}), rule(CFA_SP, 32, FP_AT_CFA, -16));
}

TEST(GoTable, OlderTableHasNoFirstLines) {
  GoSpec spec = program();
  spec.magic = 0xfffffff0;
  const auto table = table_of(table_bytes(spec));
  EXPECT_EQ(find_rule(table, {kCode + 0x104}), rule(CFA_SP, 32, FP_AT_CFA, -16));
  EXPECT_EQ(find_rule(table, {kCode + 0x201}), rule(CFA_END));
}

TEST(GoTable, WithoutItsOwnWordCodeBeginsWithTheSection) {
  GoSpec spec = program();
  spec.text = 0;
  EXPECT_EQ(find_rule(table_of(table_bytes(spec)), {kCode + 0x104}), rule(CFA_SP, 32, FP_AT_CFA, -16));
}

TEST(GoTable, DamagedTablesAreReadAsFarAsTheyGo) {
  const auto whole = table_bytes(program());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_LE(table_of(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))).go_functions,
              4u);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] = ~damaged[at];
    EXPECT_LE(table_of(damaged).go_functions, 4u);
  }
  GoSpec unknown = program();
  unknown.magic = 0xfffffff2;
  EXPECT_EQ(table_of(table_bytes(unknown)).go_functions, 0u);
}

// What runs on the system stack was called from a goroutine, whose stack may lie anywhere: below it, too.
TEST(GoTable, WalkGoesFromTheSystemStackToTheGoroutines) {
  constexpr std::uint64_t kBias = 0x7f0000000000, kStack = 0x7ffe00000000;
  const auto table = std::make_shared<const Table>(table_of(table_bytes(program())));
  AddressSpace space;
  space.add({kBias + kCode}, {kBias + kCode + 0x500}, kBias, table);
  std::vector<std::byte> stack(0x1000);
  const auto put_word = [&](std::uint64_t at, std::uint64_t value) {
    std::memcpy(stack.data() + at, &value, 8);
  };
  // The leaf on the system stack keeps the goroutine's frame pointer, 0x100.
  put_word(0x800 + 16, kStack + 0x100);
  put_word(0x800 + 24, kBias + kCode + 0x310);
  put_word(0x100, 0);                      // the goroutine's first frame has no caller's
  put_word(0x108, kBias + kCode + 0x201);  // it returns behind the nop of runtime.goexit
  std::vector<FrameAddress> frames;
  const auto code = [](ProcessAddress) { return std::optional<std::uint64_t>(0x9090909090909090); };
  const Unwinder unwinder(space, code);
  EXPECT_EQ(unwinder.unwind({kBias + kCode + 0x110, kStack + 0x800, kStack + 0x7f0, nullptr, {kStack}, stack},
                            frames),
            WALK_ROOT);
  std::vector<std::uint64_t> offsets;
  for (const FrameAddress& each : frames) offsets.push_back(each.address.value - kBias - kCode);
  EXPECT_THAT(offsets, ElementsAre(0x110, 0x310, 0x201));

  // Without a call or that nop before it, a word is no return address.
  const auto other_code = [](ProcessAddress) { return std::optional<std::uint64_t>(0); };
  frames.clear();
  EXPECT_EQ(
      Unwinder(space, other_code)
          .unwind({kBias + kCode + 0x110, kStack + 0x800, kStack + 0x7f0, nullptr, {kStack}, stack}, frames),
      WALK_NO_RULE);
}

}  // namespace
}  // namespace fathom::unwind
