// Rows of functions that nothing describes, by hand and against the tables that the compiler wrote for this program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>

#include "binary/elf/module_file.h"
#include "binary/unwind/table.h"
#include "binary/unwind/testing_module.h"

namespace fathom::unwind {
namespace {

using elf::testing::append;
using testing::bytes;
using testing::Bytes;
using testing::kCode;
using testing::rule;

unwind_rule guessed(unwind_rule rule) {
  rule.flags = UNWIND_RULE_GUESSED;
  return rule;
}

// `parts` at their offsets in code of traps that nothing describes.
Table table_of_code(const std::vector<std::pair<std::size_t, Bytes>>& parts,
                    const TableOptions& options = {}) {
  Bytes code(0x400, std::byte{0xcc});
  for (const auto& [at, part] : parts)
    std::copy(part.begin(), part.end(), code.begin() + static_cast<std::ptrdiff_t>(at));
  elf::testing::ElfBuilder builder;
  builder.segment(PT_LOAD, PF_R | PF_X, kCode, builder.blob(code));
  builder.without_section_headers();
  const auto image = builder.build();
  return build_table(elf::ElfFile::parse(image, "hand-made").value(), options).value();
}

// push rbx; call 0x33 bytes behind it; pop rbx; ret
const Bytes kGuessedCaller = bytes({0x53, 0xe8, 0x33, 0, 0, 0, 0x5b, 0xc3});
// sub rsp, 24; nop; add rsp, 24; ret: at a place that only a call shows
const Bytes kCalled = bytes({0x48, 0x83, 0xec, 24, 0x90, 0x48, 0x83, 0xc4, 24, 0xc3});

TEST(GuessFunctions, WhatIsCalledIsAFunction) {
  const auto table = table_of_code({{0x100, kGuessedCaller}, {0x139, kCalled}});
  EXPECT_EQ(table.guessed, 2u);
  EXPECT_EQ(find_rule(table, {kCode + 0x139}), guessed(rule(CFA_SP, 8)));
  EXPECT_EQ(find_rule(table, {kCode + 0x13d}), guessed(rule(CFA_SP, 32)));
  EXPECT_EQ(find_rule(table, {kCode + 0x142}), guessed(rule(CFA_SP, 8)));
  EXPECT_EQ(find_rule(table, {kCode + 0x101}), guessed(rule(CFA_SP, 16)));  // by its place and its return
  EXPECT_EQ(table_of_code({{0x100, kGuessedCaller}, {0x139, kCalled}}, {.guess = false}).guessed, 0u);
}

TEST(GuessFunctions, FunctionBehindACallThatDoesNotReturnIsNotTheCallers) {
  // push rax; call; and at once, where the next function begins: push rbx; test edi, edi; pop rbx; ret
  const auto table = table_of_code({{0x100, bytes({0x50, 0xe8, 0, 0, 0, 0})},
                                    {0x106, bytes({0x53, 0x85, 0xff, 0x5b, 0xc3})},
                                    {0x180, kGuessedCaller}});
  EXPECT_NE(find_rule(table, {kCode + 0x107}), std::optional(guessed(rule(CFA_SP, 24))));
}

TEST(GuessFunctions, CallFromWhichAThreadBeginsIsItsEnd) {
  // call *r9; mov edi, eax; xor eax, eax; mov al, 60; syscall: musl. call *rax; mov rdi, rax; mov eax, 60; syscall
  const Bytes musl = bytes({0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05});
  const Bytes glibc = bytes({0xff, 0xd0, 0x48, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05});
  // The same exit without a call before it.
  const Bytes exits = bytes({0x90, 0x90, 0x90, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05});
  const auto table = table_of_code({{0x120, musl}, {0x220, glibc}, {0x320, exits}}, {.guess = false});
  EXPECT_EQ(find_rule(table, {kCode + 0x122}), rule(CFA_END, 0));
  EXPECT_EQ(find_rule(table, {kCode + 0x11f}), std::nullopt);
  EXPECT_EQ(find_rule(table, {kCode + 0x221}), rule(CFA_END, 0));
  EXPECT_EQ(find_rule(table, {kCode + 0x322}), std::nullopt);
}

TEST(GuessFunctions, BytesThatAreNoCodeGiveNothing) {
  Bytes noise(0x400);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<std::byte>(i * i * 7 + i / 3 * 13);
  for (std::size_t size = 0; size < noise.size(); size += 37) {
    const auto table =
        table_of_code({{0, Bytes(noise.begin(), noise.begin() + static_cast<std::ptrdiff_t>(size))}});
    EXPECT_LE(table.guessed, 8u);
  }
}

// This program, without everything that shows where functions are and how their frames look: its section
// headers, and the segment that leads to its call frame information.
Bytes stripped(std::span<const std::byte> program) {
  Bytes bare(program.begin(), program.end());
  Elf64_Ehdr header;
  std::memcpy(&header, bare.data(), sizeof header);
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(bare.data(), &header, sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::byte* const at = bare.data() + header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type == PT_GNU_EH_FRAME) segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
  return bare;
}

// The same caller: the same CFA, and rbp from the same place or from where it still is.
bool same_caller(const unwind_rule& made, const unwind_rule& told) {
  if (made.cfa != told.cfa || made.cfa_offset != told.cfa_offset) return false;
  if (made.fp == told.fp && made.fp_offset == told.fp_offset) return true;
  return told.fp == FP_SAME ? made.fp == FP_AT_CFA : made.fp == FP_SAME && told.fp_offset < -told.cfa_offset;
}

TEST(GuessFunctions, OfThisProgramRowsMeanWhatTheCompilerSaid) {
  const auto program = elf::ModuleFile::open("/proc/self/exe").value();
  const auto bare = stripped(program.elf().bytes());
  const auto told = build_table(program.elf(), {.synthesize = false}).value();
  const auto made = build_table(elf::ElfFile::parse(bare, "stripped").value()).value();
  EXPECT_EQ(made.fdes, 0u);
  double addresses = 0, rows = 0, wrong = 0;
  for (const auto& [start, size] : function_bounds(program.elf()))
    for (std::uint64_t at = start.value; at < start.value + size; ++at) {
      const auto truth = find_rule(told, {at});
      if (!truth || (truth->cfa != CFA_SP && truth->cfa != CFA_FP)) continue;
      const auto rule = find_rule(made, {at});
      ++addresses;
      rows += rule ? 1 : 0;
      wrong += rule && !same_caller(*rule, *truth) ? 1 : 0;
    }
  std::cout << made.guessed << " functions, " << 100 * rows / addresses << " % of " << addresses
            << " addresses with rows, " << 100 * wrong / rows << " % of them wrong\n";
  // The rest are landing pads, which nothing but call frame information leads to. Where sanitizers are linked into the
  // program by clang, there is more assembly than code of ours.
#if defined(__clang__)
  EXPECT_GE(rows / addresses, 0.5);
  EXPECT_LE(wrong / rows, 0.02);
#else
  EXPECT_GE(rows / addresses, 0.75);
  EXPECT_LE(wrong / rows, 0.005);
#endif
}

}  // namespace
}  // namespace fathom::unwind
