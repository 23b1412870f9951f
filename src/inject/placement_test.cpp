// Where our mappings go, and what a stopped thread is given to go on with: rules without a process.
#include "inject/placement.h"

#include <gtest/gtest.h>

#include "inject/entries.h"
#include "inject/restart_x86_64.h"
#include "inject/shared_layout.h"

namespace fathom::inject {
namespace {

process::MapEntry mapped(std::uint64_t start, std::uint64_t end) {
  process::MapEntry entry;
  entry.start = {start};
  entry.end = {end};
  return entry;
}

constexpr AddressRange kAnywhere{{0}, {~std::uint64_t{0}}};

TEST(Placement, TheMiddleOfTheWidestGap) {
  const std::vector<process::MapEntry> maps = {mapped(0x400000, 0x500000), mapped(0x600000, 0x700000),
                                               mapped(0x10700000, 0x7fffffff0000)};
  EXPECT_EQ(find_room(maps, 0x100000, kAnywhere), ProcessAddress{0x8680000});
}

TEST(Placement, NoGapIsLargeEnough) {
  const std::vector<process::MapEntry> maps = {mapped(0, 0x500000), mapped(0x502000, 0x7fffffff0000)};
  EXPECT_EQ(find_room(maps, 0x1000, kAnywhere), std::nullopt) << "a page on both sides stays free";
  EXPECT_EQ(find_room({}, 0x1000, {{0x1000}, {0x1000}}), std::nullopt);
}

TEST(Placement, WithinReachOfTheModule) {
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

TEST(Placement, AProgramLinkedToTheLowestAddresses) {
  const AddressRange module{{0x400000}, {0x500000}};
  const std::vector<process::MapEntry> maps = {mapped(0x400000, 0x500000), mapped(0x1000000, 0x1021000)};
  const auto room = find_room(maps, 0x1000, in_reach(module, 0x1000));
  ASSERT_TRUE(room.has_value());
  EXPECT_GT(room->value, 0x20000000U) << "far from the heap, which grows upwards";
  EXPECT_LT(room->value, 0x80000000U);
}

TEST(Restart, EpollWaitThatWasStoppedBeginsAgain) {
  user_regs_struct registers{};
  registers.orig_rax = SYS_epoll_wait;
  registers.rax = static_cast<unsigned long long>(-EINTR);
  registers.rip = 0x1002;
  ASSERT_TRUE(ended_by_stop(registers));
  start_again(registers, registers.orig_rax);
  EXPECT_EQ(registers.rip, 0x1000U);
  EXPECT_EQ(registers.rax, static_cast<unsigned long long>(SYS_epoll_wait));
  EXPECT_FALSE(ended_by_stop(registers));
}

TEST(Restart, OtherResultsAndCallsAreLeftAlone) {
  user_regs_struct registers{};
  registers.orig_rax = SYS_epoll_wait;
  registers.rax = 1;
  EXPECT_FALSE(ended_by_stop(registers));
  registers.orig_rax = SYS_read;
  registers.rax = static_cast<unsigned long long>(-EINTR);
  EXPECT_FALSE(ended_by_stop(registers)) << "read is restarted by the kernel; this EINTR is a handler's";
}

TEST(Restart, AFrameShowsTheCallBeforeItBegan) {
  user_regs_struct registers{};
  registers.orig_rax = SYS_nanosleep;
  registers.rax = static_cast<unsigned long long>(-516);  // ERESTART_RESTARTBLOCK
  registers.rip = 0x2002;
  EXPECT_EQ(as_in_user_mode(registers).rip, 0x2000U);
  EXPECT_EQ(as_in_user_mode(registers).rax, static_cast<unsigned long long>(SYS_nanosleep));
  registers.orig_rax = static_cast<unsigned long long>(-1);  // it was running
  EXPECT_EQ(as_in_user_mode(registers).rip, 0x2002U);
}

TEST(Entries, AThreadAmongTheBytesGoesOnInTheTrampoline) {
  PlannedHook hook;
  hook.hook.function = {0x1000};
  hook.entry.patch_address = {0x1004};
  hook.entry.before.resize(6);
  hook.entry.moved = {{4, 0}, {5, 1}, {7, 3}};
  hook.trampoline = {0x9000};
  EXPECT_EQ(goes_on_at(hook, 0x1000), 0x1000U);
  EXPECT_EQ(goes_on_at(hook, 0x1004), 0x1004U) << "the jump itself";
  EXPECT_EQ(goes_on_at(hook, 0x1005), 0x9001U);
  EXPECT_EQ(goes_on_at(hook, 0x1007), 0x9003U);
  EXPECT_EQ(goes_on_at(hook, 0x1006), std::nullopt);
  EXPECT_EQ(goes_on_at(hook, 0x100a), 0x100aU) << "behind the bytes";
}

TEST(SharedLayout, PartsDoNotOverlapAndRingsAreWhole) {
  Options options;
  options.ring_count = 3;
  options.ring_bytes = 8192;
  const auto head = lay_out(options);
  ASSERT_TRUE(head.has_value());
  EXPECT_GE(head->mappings_offset, sizeof(tracer_shared));
  EXPECT_GE(head->pages_offset, head->mappings_offset + options.mappings * sizeof(unwind_mapping));
  EXPECT_GE(head->rows_offset, head->pages_offset + options.pages * sizeof(unwind_page));
  EXPECT_GE(head->rules_offset, head->rows_offset + std::uint64_t{options.rows} * sizeof(unwind_row));
  EXPECT_GE(head->rings_offset, head->rules_offset + options.rules * sizeof(unwind_rule));
  EXPECT_EQ(head->bytes, head->rings_offset + 3 * (TRACER_RING_DATA + 8192));
}

TEST(SharedLayout, SizesThatCannotBeAreRefused) {
  Options options;
  options.ring_bytes = 5000;
  EXPECT_EQ(lay_out(options).error().kind, ErrorKind::kUsage);
  EXPECT_FALSE(read_image_header({}).has_value());
  const std::vector<std::byte> zeros(65536);
  EXPECT_FALSE(read_image_header(zeros).has_value());
}

}  // namespace
}  // namespace fathom::inject
