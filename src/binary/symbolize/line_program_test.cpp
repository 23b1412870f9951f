#include "binary/symbolize/line_program.h"

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

TEST(LineProgram, ADiscriminatorIsOfOneRow) {
  const std::vector<int> discriminator = {0, 3, DW_LNE_set_discriminator, 0x82, 1};  // 130
  const auto bytes = program(join({set_address(0x1000),
                                   {DW_LNS_copy},
                                   discriminator,
                                   {special(4, 2), special(4, 0), DW_LNS_advance_pc, 4},
                                   kEnd}));
  auto parsed = LineProgram::parse({bytes, {}, {}}, 0, "/home/user", "main.c");
  const std::vector<std::uint64_t> addresses = {0x1000, 0x1004, 0x1008};
  std::vector<std::uint32_t> found;
  for (const auto& row : parsed->find(addresses)) found.push_back(row ? row->discriminator : 9999);
  EXPECT_EQ(found, (std::vector<std::uint32_t>{0, 130, 0}));
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

// A program of many sequences, and what its rows say, interval by interval in the order of the program. Some overlap, some run
// backwards, and some were left out by the linker; between others nothing is known.
struct LongProgram {
  struct Interval {
    std::uint64_t from, end;
    std::uint32_t line;
  };
  LongProgram() {
    std::mt19937 random(7);
    for (int sequence = 0; sequence < 60; ++sequence) {
      address = sequence % 7 == 3 ? 0 : 0x1000 + sequence * 0x800 + random() % 0x100;
      line = 1;
      append(set_address(address));
      discarded = address == 0;
      first = true;
      append({DW_LNS_copy});
      emit();
      for (unsigned row = random() % 900; row > 0; --row) {
        const int further = static_cast<int>(random() % 4), lines = static_cast<int>(random() % 9);
        append({special(further, lines)});
        address += static_cast<unsigned>(further);
        line += static_cast<unsigned>(lines);
        emit();
        if (random() % 400 != 0) continue;
        address = 0x1000 + random() % 0x10000;
        append(set_address(address));
      }
      append(kEnd);
      emit();
    }
  }
  void append(const std::vector<int>& more) { opcodes.insert(opcodes.end(), more.begin(), more.end()); }
  void emit() {
    if (!first && address >= before && !discarded) intervals.push_back({before, address, line_before});
    first = false;
    before = address;
    line_before = line;
  }
  std::uint32_t line_at(std::uint64_t wanted) const {
    for (const Interval& each : intervals)
      if (wanted >= each.from && wanted < each.end) return each.line;
    return 9999;
  }

  std::vector<int> opcodes;
  std::vector<Interval> intervals;
  std::uint64_t address = 0, before = 0;
  std::uint32_t line = 1, line_before = 1;
  bool first = true, discarded = false;
};

TEST(LineProgram, LaterBatchesAreAnsweredAsTheFirstOne) {
  const LongProgram made;
  const auto bytes = program(made.opcodes);
  ASSERT_GT(bytes.size(), 5u * 4096) << "one stretch";
  std::vector<std::uint64_t> all;
  std::vector<std::uint32_t> expected;
  for (std::uint64_t address = 0; address < 0x24000; address += 3) {
    all.push_back(address);
    expected.push_back(made.line_at(address));
  }
  EXPECT_GT(std::ranges::count(expected, 9999u), 1000);
  EXPECT_LT(std::ranges::count(expected, 9999u), static_cast<std::ptrdiff_t>(expected.size()) - 1000);
  auto kept = LineProgram::parse({bytes, {}, {}}, 0, "/home/user", "main.c");
  const auto lines = [&](std::span<const std::uint64_t> addresses) {
    std::vector<std::uint32_t> out;
    for (const auto& row : kept->find(addresses)) out.push_back(row ? row->line : 9999);
    return out;
  };
  EXPECT_EQ(lines(all), expected);
  EXPECT_EQ(lines(all), expected) << "by stretches";
  // A few far apart, so that most stretches are not run.
  std::mt19937 random(9);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::size_t> chosen{random() % all.size(), random() % all.size(), random() % all.size()};
    std::ranges::sort(chosen);
    std::vector<std::uint64_t> some;
    std::vector<std::uint32_t> answers;
    for (const std::size_t each : chosen) {
      some.push_back(all[each]);
      answers.push_back(expected[each]);
    }
    ASSERT_EQ(lines(some), answers) << "round " << round;
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
