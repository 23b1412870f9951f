// The rules for placing mappings, tested without a process.
#include "attach/inject/plan/placement.h"

#include <gtest/gtest.h>

namespace fathom::inject {
namespace {

process::MapEntry mapped(std::uint64_t start, std::uint64_t end) {
  process::MapEntry entry;
  entry.start = {start};
  entry.end = {end};
  return entry;
}

constexpr AddressRange kAnywhere{{0}, {~std::uint64_t{0}}};

TEST(Placement, IsTheMiddleOfTheWidestGap) {
  const std::vector<process::MapEntry> maps = {mapped(0x400000, 0x500000), mapped(0x600000, 0x700000),
                                               mapped(0x10700000, 0x7fffffff0000)};
  EXPECT_EQ(find_room(maps, 0x100000, kAnywhere), ProcessAddress{0x8680000});
}

TEST(Placement, FailsIfNoGapIsLargeEnough) {
  const std::vector<process::MapEntry> maps = {mapped(0, 0x500000), mapped(0x502000, 0x7fffffff0000)};
  EXPECT_EQ(find_room(maps, 0x1000, kAnywhere), std::nullopt) << "a page on both sides stays free";
  EXPECT_EQ(find_room({}, 0x1000, {{0x1000}, {0x1000}}), std::nullopt);
}

TEST(Placement, IsWithinReachOfTheModule) {
  const AddressRange module{{0x555500000000}, {0x555503000000}};
  const std::vector<process::MapEntry> maps = {mapped(module.start.value, module.end.value)};
  const auto room = find_room(maps, 0x2000, in_reach(module, 0x2000));
  ASSERT_TRUE(room.has_value());
  constexpr std::int64_t kReach = std::int64_t{1} << 31;
  const auto distance = [](std::uint64_t a, std::uint64_t b) {
    return std::abs(static_cast<std::int64_t>(a - b));
  };
  EXPECT_LT(distance(room->value, module.end.value), kReach);
  EXPECT_LT(distance(room->value + 0x2000, module.start.value), kReach);
}

TEST(Placement, WorksForAProgramLinkedToTheLowestAddresses) {
  const AddressRange module{{0x400000}, {0x500000}};
  const std::vector<process::MapEntry> maps = {mapped(0x400000, 0x500000), mapped(0x1000000, 0x1021000)};
  const auto room = find_room(maps, 0x1000, in_reach(module, 0x1000));
  ASSERT_TRUE(room.has_value());
  EXPECT_GT(room->value, 0x20000000U) << "far from the heap, which grows upwards";
  EXPECT_LT(room->value, 0x80000000U);
}

}  // namespace
}  // namespace fathom::inject
