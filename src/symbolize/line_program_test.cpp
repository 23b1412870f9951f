#include "symbolize/line_program.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fathom::symbolize {
namespace {

using Bytes = std::vector<std::byte>;

void put(Bytes& out, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}
void put(Bytes& out, std::string_view text) {
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
  out.push_back({});
}

// A version 4 program: two folders, three files, line_base -5, line_range 14, opcode_base 13.
Bytes program(const std::vector<int>& opcodes) {
  Bytes header;
  for (const int each : {1, 1, 1, -5, 14, 13}) put(header, static_cast<std::uint64_t>(each), 1);
  for (const int operands : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1})
    put(header, static_cast<std::uint64_t>(operands), 1);
  put(header, "lib");
  put(header, "/usr/include");
  put(header, "");
  const auto file = [&](std::string_view name, unsigned directory) {
    put(header, name);
    for (const unsigned each : {directory, 0u, 0u}) put(header, each, 1);
  };
  file("main.c", 0);
  file("../lib/./part.c", 1);
  file("stdio.h", 2);
  put(header, "");
  Bytes unit;
  put(unit, 4, 2);
  put(unit, header.size(), 4);
  unit.insert(unit.end(), header.begin(), header.end());
  for (const int opcode : opcodes) put(unit, static_cast<std::uint64_t>(opcode), 1);
  Bytes out;
  put(out, unit.size(), 4);
  out.insert(out.end(), unit.begin(), unit.end());
  return out;
}

std::vector<int> set_address(std::uint64_t address) {
  std::vector<int> out = {0, 9, DW_LNE_set_address};
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<int>(address >> (8 * i) & 0xff));
  return out;
}
std::vector<int> join(std::initializer_list<std::vector<int>> parts) {
  std::vector<int> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}
// Special opcode: this much further, this many lines.
int special(int address, int line) {
  return 13 + (line + 5) + 14 * address;
}
const std::vector<int> kEnd = {0, 1, DW_LNE_end_sequence};

std::vector<std::uint32_t> lines_at(const Bytes& bytes, const std::vector<std::uint64_t>& addresses) {
  auto parsed = LineProgram::parse({bytes, {}, {}}, 0, "/home/user", "main.c");
  std::vector<std::uint32_t> lines;
  for (const auto& row : parsed->find(addresses)) lines.push_back(row ? row->line : 9999);
  return lines;
}

TEST(LineProgram, ARowHoldsUpToTheNext) {
  // line 1 at 0x1000, 3 at 0x1004, end at 0x1008
  const auto bytes =
      program(join({set_address(0x1000), {DW_LNS_copy, special(4, 2), DW_LNS_advance_pc, 4}, kEnd}));
  EXPECT_EQ(lines_at(bytes, {0xfff, 0x1000, 0x1003, 0x1004, 0x1007, 0x1008}),
            (std::vector<std::uint32_t>{9999, 1, 1, 3, 3, 9999}));
}

TEST(LineProgram, OfTwoRowsAtOneAddressTheLaterHolds) {
  const auto bytes =
      program(join({set_address(0x1000), {DW_LNS_copy, special(0, 6), DW_LNS_advance_pc, 4}, kEnd}));
  EXPECT_EQ(lines_at(bytes, {0x1000}), std::vector<std::uint32_t>{7});
}

TEST(LineProgram, SequencesMayComeInAnyOrder) {
  const auto bytes = program(join({set_address(0x2000),
                                   {special(0, 8), DW_LNS_advance_pc, 4},
                                   kEnd,
                                   set_address(0x1000),
                                   {special(0, 3), DW_LNS_advance_pc, 4},
                                   kEnd}));
  EXPECT_EQ(lines_at(bytes, {0x1000, 0x1800, 0x2003}), (std::vector<std::uint32_t>{4, 9999, 9}));
}

TEST(LineProgram, FunctionsThatTheLinkerLeftOutDoNotCount) {
  const auto bytes = program(join({set_address(0),
                                   {special(0, 8), DW_LNS_const_add_pc, DW_LNS_const_add_pc},
                                   kEnd,
                                   set_address(0x10),
                                   {special(0, 3), DW_LNS_advance_pc, 4},
                                   kEnd}));
  EXPECT_EQ(lines_at(bytes, {0x8, 0x10}), (std::vector<std::uint32_t>{9999, 4}));
}

// Sequences of many rows, some of which overlap, run backwards or were left out by the linker.
TEST(LineProgram, LaterBatchesAreAnsweredAsTheFirstOne) {
  std::vector<int> opcodes;
  std::mt19937 random(7);
  for (int sequence = 0; sequence < 60; ++sequence) {
    const auto start = sequence % 7 == 3 ? 0 : 0x1000 + random() % 0x8000;
    for (const int each : set_address(start)) opcodes.push_back(each);
    for (unsigned row = random() % 900; row > 0; --row) {
      opcodes.push_back(special(static_cast<int>(random() % 4), static_cast<int>(random() % 9)));
      if (random() % 50 == 0) {
        opcodes.push_back(DW_LNS_advance_line);
        opcodes.push_back(0x41);  // -63
      }
      if (random() % 400 == 0)
        for (const int each : set_address(0x1000 + random() % 0x8000)) opcodes.push_back(each);
    }
    for (const int each : kEnd) opcodes.push_back(each);
  }
  const auto bytes = program(opcodes);
  ASSERT_GT(bytes.size(), 5u * 4096) << "one stretch";
  std::vector<std::uint64_t> all;
  for (std::uint64_t address = 0; address < 0xa000; address += 3) all.push_back(address);
  const auto lines = [](LineProgram& program, std::span<const std::uint64_t> addresses) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
    for (const auto& row : program.find(addresses))
      out.emplace_back(row ? row->file : 0, row ? row->line : 9999);
    return out;
  };
  auto kept = LineProgram::parse({bytes, {}, {}}, 0, "/home/user", "main.c");
  const auto expected = lines(*kept, all);
  EXPECT_GT(std::ranges::count_if(expected, [](const auto& row) { return row.first != 0; }), 1000);
  EXPECT_EQ(lines(*kept, all), expected);
  for (std::size_t i = 0; i + 5 < all.size(); i += 97) {
    const auto some = std::span(all).subspan(i, 5);
    EXPECT_TRUE(std::ranges::equal(lines(*kept, some), std::span(expected).subspan(i, 5))) << i;
    if (i % 10 != 0) continue;
    auto anew = LineProgram::parse({bytes, {}, {}}, 0, "/home/user", "main.c");
    EXPECT_TRUE(std::ranges::equal(lines(*anew, some), std::span(expected).subspan(i, 5))) << i;
  }
}

TEST(LineProgram, PathsAreJoinedWithTheirFoldersAndCleaned) {
  const auto bytes = program(kEnd);
  const auto parsed = LineProgram::parse({bytes, {}, {}}, 0, "/home/user", "unit.c");
  EXPECT_EQ(parsed->file(0), "/home/user/unit.c");
  EXPECT_EQ(parsed->file(1), "/home/user/main.c");
  EXPECT_EQ(parsed->file(2), "/home/user/lib/part.c");
  EXPECT_EQ(parsed->file(3), "/usr/include/stdio.h");
  EXPECT_EQ(parsed->file(4), "");
}

TEST(LineProgram, EveryPrefixIsReadOrRefused) {
  const auto bytes =
      program(join({set_address(0x1000), {DW_LNS_copy, special(4, 2), DW_LNS_advance_pc, 4}, kEnd}));
  const std::vector<std::uint64_t> addresses = {0x1000, 0x1004};
  for (std::size_t size = 0; size < bytes.size(); ++size)
    if (auto parsed = LineProgram::parse({std::span(bytes).first(size), {}, {}}, 0, "/", "x"))
      EXPECT_EQ(parsed->find(addresses).size(), 2u);
    else
      EXPECT_FALSE(parsed.error().message.empty());
}

TEST(LineProgram, ALineRangeOfZeroIsRefused) {
  auto bytes = program(kEnd);
  bytes[4 + 2 + 4 + 4] = {};
  EXPECT_FALSE(LineProgram::parse({bytes, {}, {}}, 0, "/", "x"));
}

}  // namespace
}  // namespace fathom::symbolize
