#include "record/bpf/table_space.h"

#include <gtest/gtest.h>

namespace fathom::sources {
namespace {

struct Kernel {  // what the walker would see
  std::vector<unwind_row> rows = std::vector<unwind_row>(64);
  std::vector<unwind_page> pages = std::vector<unwind_page>(8);
  std::vector<unwind_rule> rules = std::vector<unwind_rule>(16);
  std::vector<unwind_mapping> mappings = std::vector<unwind_mapping>(16);
  std::map<std::uint32_t, tracked_process> processes;
  TableSpace space{{rows, pages, rules, mappings},
                   [this](std::uint32_t pid, const tracked_process& process) { processes[pid] = process; }};
};

unwind_rule rsp_rule(std::int32_t offset) {
  unwind_rule rule{};
  rule.cfa = CFA_SP;
  rule.cfa_offset = offset;
  return rule;
}

TEST(TableSpace, RulesOfAllModulesAreSharedAndRowsRenumbered) {
  Kernel kernel;
  const unwind_rule rules_a[] = {unwind_rule{}, rsp_rule(8), rsp_rule(16)};
  const unwind_rule rules_b[] = {unwind_rule{}, rsp_rule(16), rsp_rule(8)};
  const unwind_row rows[] = {UNWIND_ROW(0, 0), UNWIND_ROW(0x100, 1), UNWIND_ROW(0x200, 2)};
  const unwind_page pages[] = {0ull | 3ull << 32};
  const auto a = kernel.space.add(rows, pages, rules_a, 0);
  const auto b = kernel.space.add(rows, pages, rules_b, 16);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(kernel.space.rule_count(), 3u);
  const auto rule_of = [&](const TableSlot& slot, unsigned row) {
    return kernel.rules[UNWIND_ROW_RULE(kernel.rows[slot.first_row + row])].cfa_offset;
  };
  EXPECT_EQ(rule_of(*a, 1), 8);
  EXPECT_EQ(rule_of(*b, 1), 16);
  EXPECT_EQ(kernel.pages[b->first_page], std::uint64_t{b->first_row} | std::uint64_t{b->first_row + 3} << 32);
}

TEST(TableSpace, FullSpaceIsReportedAndRemovedModulesMakeRoom) {
  Kernel kernel;
  const unwind_rule rules[] = {unwind_rule{}};
  const std::vector<unwind_row> rows(40, UNWIND_ROW(0, 0));
  const unwind_page pages[] = {40ull << 32};
  const auto first = kernel.space.add(rows, pages, rules, 0);
  ASSERT_TRUE(first);
  EXPECT_FALSE(kernel.space.add(rows, pages, rules, 0));
  kernel.space.remove(*first);
  EXPECT_TRUE(kernel.space.add(rows, pages, rules, 0));
}

TEST(TableSpace, AModuleThatCannotBeWrittenTakesNoRoom) {
  Kernel kernel;
  bool writable = false;
  TableSpace space{{kernel.rows,
                    {8, [&](std::uint32_t, std::span<const unwind_page>) { return writable; }},
                    kernel.rules,
                    kernel.mappings},
                   [](std::uint32_t, const tracked_process&) {}};
  const unwind_rule rules[] = {unwind_rule{}};
  const std::vector<unwind_row> rows(40, UNWIND_ROW(0, 0));
  const unwind_page pages[] = {40ull << 32};
  EXPECT_FALSE(space.add(rows, pages, rules, 0));
  writable = true;
  EXPECT_TRUE(space.add(rows, pages, rules, 0)) << "the rows of the first attempt are free again";
}

TEST(TableSpace, NewMappingsNeverOverwriteThoseThatAWalkMayBeReading) {
  Kernel kernel;
  const std::vector<unwind_mapping> one(
      1, unwind_mapping{.start = 1, .end = 2, .bias = 0, .first_page = 0, .page_count = 0, .page_base = 0});
  const std::vector<unwind_mapping> two(
      2, unwind_mapping{.start = 5, .end = 6, .bias = 0, .first_page = 0, .page_count = 0, .page_base = 0});
  ASSERT_TRUE(kernel.space.set_mappings(7, one, 1));
  const auto old = kernel.processes[7];
  ASSERT_TRUE(kernel.space.set_mappings(7, two, 2));
  EXPECT_EQ(kernel.mappings[old.mapping_first].start, 1u);
  EXPECT_NE(kernel.processes[7].mapping_first, old.mapping_first);
  EXPECT_EQ(kernel.processes[7].mapping_count, 2u);
  EXPECT_EQ(kernel.processes[7].epoch, 2u);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(kernel.space.set_mappings(7, two, 3)) << i;
}

TEST(RangeAllocator, ReleasedNeighboursBecomeOneHole) {
  RangeAllocator ranges(30);
  const auto a = ranges.allocate(10), b = ranges.allocate(10), c = ranges.allocate(10);
  ASSERT_TRUE(a && b && c);
  EXPECT_FALSE(ranges.allocate(1));
  ranges.release(*a, 10);
  ranges.release(*c, 10);
  EXPECT_EQ(ranges.largest_hole(), 10u);
  ranges.release(*b, 10);
  EXPECT_EQ(ranges.largest_hole(), 30u);
}

}  // namespace
}  // namespace fathom::sources
