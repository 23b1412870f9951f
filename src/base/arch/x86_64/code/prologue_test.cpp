// Rows made from code, against the call frame information that the compiler wrote for the same code.
#include "base/arch/common/prologue.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "binary/elf/module_file.h"
#include "binary/unwind/table.h"
#include "binary/unwind/testing_module.h"

namespace fathom::unwind {
namespace {

using arch::PrologueRow, arch::rows_from_code;

using testing::Bytes;
using testing::bytes;
using ::testing::ElementsAre;
using testing::rule;

using Rows = std::vector<std::pair<std::uint32_t, unwind_rule>>;
std::optional<Rows> rows_of(const Bytes& code) {
  const auto rows = rows_from_code(code);
  if (!rows) return std::nullopt;
  Rows out;
  for (const PrologueRow& row : *rows) out.emplace_back(row.offset, row.rule);
  return out;
}
Rows expected(const Bytes& code) {
  return rows_of(code).value_or(Rows{});
}

TEST(Prologue, LeafWithoutAFrame) {
  EXPECT_THAT(expected(bytes({0x31, 0xc0, 0xc3})), ElementsAre(std::pair(0u, rule(CFA_SP, 8))));  // xor; ret
}

TEST(Prologue, FrameWithRbp) {
  // push rbp; mov rbp, rsp; sub rsp, 32; call; leave; ret
  const auto code = bytes({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 32, 0xe8, 0, 0, 0, 0, 0xc9, 0xc3});
  EXPECT_THAT(expected(code),
              ElementsAre(std::pair(0u, rule(CFA_SP, 8)), std::pair(1u, rule(CFA_SP, 16, FP_AT_CFA, -16)),
                          std::pair(4u, rule(CFA_FP, 16, FP_AT_CFA, -16)),
                          std::pair(8u, rule(CFA_FP, 16, FP_AT_CFA, -16)), std::pair(14u, rule(CFA_SP, 8))));
}

TEST(Prologue, RbpMayBeStoredWithoutAPush) {
  // sub rsp, 24; mov [rsp+8], rbp; mov ebp, 5; mov rbp, [rsp+8]; add rsp, 24; ret
  const auto code = bytes({0x48, 0x83, 0xec, 24,   0x48, 0x89, 0x6c, 0x24, 8,    0xbd, 5,  0,
                           0,    0,    0x48, 0x8b, 0x6c, 0x24, 8,    0x48, 0x83, 0xc4, 24, 0xc3});
  EXPECT_THAT(expected(code), ElementsAre(std::pair(0u, rule(CFA_SP, 8)), std::pair(4u, rule(CFA_SP, 32)),
                                          std::pair(9u, rule(CFA_SP, 32, FP_AT_CFA, -24)),
                                          std::pair(14u, rule(CFA_SP, 32, FP_AT_CFA, -24)),
                                          std::pair(19u, rule(CFA_SP, 32)), std::pair(23u, rule(CFA_SP, 8))));
}

TEST(Prologue, StackPointerThatIsLostIsFoundAgainThroughRbp) {
  // push rbp; mov rbp, rsp; and rsp, -64; sub rsp, 64; lea rsp, [rbp]; pop rbp; ret
  const auto code = bytes({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x83, 0xec, 64, 0x48, 0x8d,
                           0x65, 0, 0x5d, 0xc3});
  const auto rows = rows_of(code);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->back(), std::pair(17u, rule(CFA_SP, 8)));
}

TEST(Prologue, PathsThatDisagreeGiveNoRows) {
  // test edi, edi; je +1; push rax; ret: the return is reached at two depths
  EXPECT_EQ(rows_of(bytes({0x85, 0xff, 0x74, 1, 0x50, 0xc3})), std::nullopt);
}

TEST(Prologue, WhatCannotBeFollowedGivesNoRows) {
  EXPECT_EQ(rows_of(bytes({0x50, 0xc3})), std::nullopt);              // push rax; ret: into rax
  EXPECT_EQ(rows_of(bytes({0x48, 0x89, 0xfc, 0xc3})), std::nullopt);  // mov rsp, rdi: another stack
  EXPECT_EQ(rows_of(bytes({0x5f, 0x57, 0xc3})), std::nullopt);        // pop rdi: the return address is gone
  EXPECT_EQ(rows_of(bytes({0xbd, 1, 0, 0, 0, 0xc3})), std::nullopt);  // ebp changed for the caller
  EXPECT_EQ(rows_of(bytes({0xeb, 0xff, 0xc0, 0xc3})), std::nullopt);  // a jump into an instruction
  EXPECT_EQ(rows_of(bytes({0x06})), std::nullopt);                    // no instruction
  EXPECT_EQ(rows_of({}), std::nullopt);
}

TEST(Prologue, CallThatDoesNotReturnIsNotBelieved) {
  // test edi, edi; je +6; push rax; call; ret: what stands after the call is reached by the jump, with
  // another depth
  const auto code = bytes({0x85, 0xff, 0x74, 6, 0x50, 0xe8, 0, 0, 0, 0, 0xc3});
  EXPECT_THAT(expected(code), ElementsAre(std::pair(0u, rule(CFA_SP, 8)), std::pair(5u, rule(CFA_SP, 16)),
                                          std::pair(10u, rule(CFA_SP, 8))));
}

// ---- Against compilers.

// Rules can say the same in two ways: while rbp is saved and not yet changed, it is in both places; and a
// slot that the epilogue has popped (below rsp) means that the register is the caller's again, as walkers
// take it.
bool same_meaning(const PrologueRow& made, unwind_rule told) {
  unwind_rule rule = made.rule;
  if (made.fp_intact && rule.fp == FP_AT_CFA && told.fp == FP_SAME) {
    rule.fp = FP_SAME;
    rule.fp_offset = 0;
  }
  if (told.cfa == CFA_SP && told.fp == FP_AT_CFA && told.fp_offset < -told.cfa_offset) {
    told.fp = FP_SAME;
    told.fp_offset = 0;
  }
  return rule == told;
}

struct Comparison {
  int functions = 0, followed = 0, instructions = 0, unreached = 0, differences = 0;
};

// Compares at every instruction of [start, start + size).
void compare(std::span<const std::byte> code, std::uint64_t start, const Table& table, Comparison& result,
             const std::string& name) {
  ++result.functions;
  const auto rows = rows_from_code(code);
  if (!rows) {
    if (result.functions - result.followed < 5) std::cout << name << " could not be followed\n";
    return;
  }
  ++result.followed;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  auto row = rows->begin();
  for (std::size_t offset = 0; offset < code.size();) {
    ZydisDecodedInstruction instruction;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + offset,
                                                    code.size() - offset, &instruction)))
      break;
    while (row + 1 != rows->end() && (row + 1)->offset <= offset) ++row;
    ++result.instructions;
    const auto told = find_rule(table, {start + offset});
    const bool padding =
        instruction.mnemonic == ZYDIS_MNEMONIC_NOP || instruction.mnemonic == ZYDIS_MNEMONIC_INT3;
    if (row->rule.cfa == CFA_NONE) {
      ++result.unreached;
    } else if (!padding && (!told || !same_meaning(*row, *told))) {
      if (++result.differences < 10)
        std::cout << name << " + 0x" << std::hex << offset << std::dec << ": made " << int{row->rule.cfa}
                  << "/" << row->rule.cfa_offset << "/" << int{row->rule.fp} << "/" << row->rule.fp_offset
                  << ", told " << (told ? int{told->cfa} : -1) << "/" << (told ? told->cfa_offset : 0) << "/"
                  << (told ? int{told->fp} : 0) << "/" << (told ? told->fp_offset : 0) << "\n";
    }
    offset += instruction.length;
  }
}

struct Fixture {
  const char* name;
  const char* without;  // unwind tables
  const char* with;
};

class PrologueFixture : public ::testing::TestWithParam<Fixture> {};

TEST_P(PrologueFixture, RowsMeanWhatTheCompilerSaysAtEveryInstruction) {
  const auto without = elf::ModuleFile::open(GetParam().without).value();
  const auto with = elf::ModuleFile::open(GetParam().with).value();
  const auto told = build_table(with.elf(), {.synthesize = false}).value();
  const auto bare = build_table(without.elf(), {.synthesize = false}).value();
  const auto made = build_table(without.elf()).value();
  std::map<std::string, elf::Symbol> twins;
  for (const elf::Symbol& symbol : with.elf().symbols(elf::SymbolTable::kSymtab))
    twins[std::string(symbol.name)] = symbol;

  Comparison comparison;
  std::set<ElfAddress> seen;  // gcc gives recursive functions a second name
  for (const elf::Symbol& symbol : without.elf().symbols(elf::SymbolTable::kSymtab)) {
    if (symbol.type != STT_FUNC || symbol.size == 0 || !seen.insert(symbol.address).second) continue;
    const std::string name(symbol.name);
    const auto code = without.elf().bytes_at(symbol.address, symbol.size).value();
    const auto twin = with.elf().bytes_at(twins[name].address, twins[name].size).value();
    ASSERT_EQ(code.size(), twin.size()) << name;
    EXPECT_EQ(find_rule(bare, symbol.address), std::nullopt) << name;
    EXPECT_EQ(find_rule(made, symbol.address), rule(CFA_SP, 8)) << name;
    compare(code, twins[name].address.value, told, comparison, name);
  }
  EXPECT_GE(comparison.functions, 12);
  EXPECT_EQ(comparison.followed, comparison.functions);
  EXPECT_EQ(made.synthesized, static_cast<std::uint64_t>(comparison.functions));
  EXPECT_EQ(comparison.differences, 0);
  EXPECT_EQ(comparison.unreached, 0);
}

INSTANTIATE_TEST_SUITE_P(Gcc, PrologueFixture,
                         ::testing::Values(Fixture{"O0", SHAPES_O0_WITHOUT, SHAPES_O0_WITH},
                                           Fixture{"O2", SHAPES_O2_WITHOUT, SHAPES_O2_WITH},
                                           Fixture{"O2FramePointer", SHAPES_O2FP_WITHOUT, SHAPES_O2FP_WITH},
                                           Fixture{"Os", SHAPES_Os_WITHOUT, SHAPES_Os_WITH}),
                         [](const auto& each) { return each.param.name; });

// Real code: every function of a binary that has call frame information is followed as if it had none.
void compare_binary(const char* path, int instructions_per_difference) {
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const auto file = elf::ModuleFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  const auto table = build_table(file->elf(), {.synthesize = false}).value();
  const auto bounds = function_bounds(file->elf());
  std::set<ElfAddress> cold_parts;
  for (const elf::Symbol& symbol : file->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.name.find(".cold") != std::string_view::npos) cold_parts.insert(symbol.address);
  Comparison comparison;
  for (const auto& [start, size] : bounds) {
    if (cold_parts.count(start) != 0) continue;
    // Entered by a call: parts moved away, PLTs and the start of threads begin otherwise.
    if (find_rule(table, start) != std::optional(rule(CFA_SP, 8))) continue;
    const auto code = file->elf().bytes_at(start, size);
    if (code) compare(*code, start.value, table, comparison, fmt::format("{} 0x{:x}", path, start.value));
  }
  std::cout << path << ": " << comparison.followed << " of " << comparison.functions
            << " functions followed, " << comparison.instructions << " instructions, " << comparison.unreached
            << " unreached, " << comparison.differences << " differences\n";
  EXPECT_GT(comparison.followed, comparison.functions / 2);
  EXPECT_GT(comparison.instructions, 10000);
  EXPECT_LE(comparison.differences,
            instructions_per_difference == 0 ? 0 : comparison.instructions / instructions_per_difference);
}

TEST(Prologue, RowsMeanWhatCompilersSayInThisProgram) {
#if defined(__clang__)
  // Sanitizers are linked into the program by clang, with assembly whose tables leave out a push.
  compare_binary("/proc/self/exe", 500);
#else
  compare_binary("/proc/self/exe", 0);
#endif
}

TEST(Prologue, RowsMeanWhatCompilersSayInRedis) {
  compare_binary("/usr/bin/redis-check-rdb", 0);
}

// Landing pads, which nothing in the code leads to, and assembly whose tables are wrong are in the rest: 0.03
// % of anvil's 6.3 million instructions, 0.04 % of libc's, 0.1 % of libcrypto's.
TEST(Prologue, RowsMeanWhatCompilersSayInBinariesNamedByTheUser) {
  const char* list = std::getenv("FATHOM_UNWIND_BINARIES");
  if (list == nullptr) GTEST_SKIP() << "FATHOM_UNWIND_BINARIES is not set";
  std::istringstream paths(list);
  for (std::string path; std::getline(paths, path, ':');) compare_binary(path.c_str(), 500);
}

}  // namespace
}  // namespace fathom::unwind
