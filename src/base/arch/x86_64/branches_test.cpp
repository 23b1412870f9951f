// How x86-64 code names other code, on bytes made by hand.
#include "base/arch/branches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace fathom::arch {
namespace {

using ::testing::IsEmpty;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST(LinkageEntry, GoesThroughAWordBehindItsMarkAndPrefix) {
  EXPECT_EQ(linkage_entry(bytes({0xff, 0x25, 0x10, 0, 0, 0}), 0x1000).word, 0x1016u);
  EXPECT_EQ(
      linkage_entry(bytes({0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf0, 0xff, 0xff, 0xff}), 0x1000).word,
      0x0ffbu);
}

TEST(LinkageEntry, LazyOnePushesItsNumber) {
  const auto entry =
      linkage_entry(bytes({0xf3, 0x0f, 0x1e, 0xfa, 0x68, 7, 0, 0, 0, 0xe9, 0, 0, 0, 0}), 0x1000);
  EXPECT_EQ(entry.number, 7u);
  EXPECT_EQ(entry.word, std::nullopt);
}

TEST(LinkageEntry, FirstOneGoesToTheDynamicLinker) {
  EXPECT_TRUE(linkage_entry(bytes({0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0}), 0x1000).resolver);
}

TEST(LinkageEntry, OrdinaryCodeAndCutCodeAreNone) {
  for (const auto& code :
       {bytes({0x55, 0x48, 0x89, 0xe5}), bytes({0xff}), bytes({}), bytes({0xf3, 0x0f, 0x1e, 0xfa})}) {
    const auto entry = linkage_entry(code, 0x1000);
    EXPECT_EQ(entry.word, std::nullopt);
    EXPECT_EQ(entry.number, std::nullopt);
    EXPECT_FALSE(entry.resolver);
  }
}

std::array<std::byte, 8> before(std::initializer_list<int> last) {
  std::array<std::byte, 8> code;
  code.fill(std::byte{0x90});
  auto at = code.end() - static_cast<std::ptrdiff_t>(last.size());
  for (const int value : last) *at++ = static_cast<std::byte>(value);
  return code;
}

TEST(CallBefore, DirectCallSaysWhereItLeads) {
  const auto call = call_before(before({0xe8, 0xfb, 0xff, 0xff, 0xff}), 0x2000);
  EXPECT_EQ(call.kind, CallBefore::Kind::kDirect);
  EXPECT_EQ(call.target, 0x1ffbu);
}

TEST(CallBefore, CallsThroughARegisterOrMemoryOfEveryLength) {
  for (const auto& code : {before({0xff, 0xd0}), before({0xff, 0x50, 8}), before({0xff, 0x54, 0x24, 8}),
                           before({0xff, 0x15, 0, 0, 0, 0}), before({0xff, 0x94, 0x24, 0, 1, 0, 0})})
    EXPECT_EQ(call_before(code, 0x2000).kind, CallBefore::Kind::kIndirect);
}

TEST(CallBefore, JumpsAndOtherCodeAreNoCalls) {
  for (const auto& code :
       {before({0xff, 0xe0}), before({0xff, 0x25, 0, 0, 0, 0}), before({0xe9, 0, 0, 0, 0}), before({})})
    EXPECT_EQ(call_before(code, 0x2000).kind, CallBefore::Kind::kNone);
}

struct Seen {
  std::uint64_t at, target;
  bool through_word, branches;
  bool operator==(const Seen&) const = default;
};
std::vector<Seen> references_to(std::uint64_t target, const std::vector<std::byte>& code) {
  std::vector<Seen> seen;
  for_each_reference(
      code, 0x1000, [&](std::uint64_t address) { return target - address <= kReferenceReach; },
      [&](const Reference& each) {
        if (each.target == target) seen.push_back({each.at, each.target, each.through_word, each.branches});
      });
  return seen;
}

TEST(References, CallJumpAndConditionalBranchLeadToTheirTarget) {
  EXPECT_EQ(references_to(0x1105, bytes({0xe8, 0, 1, 0, 0})),
            (std::vector<Seen>{{0x1001, 0x1105, false, true}}));
  EXPECT_EQ(references_to(0x1105, bytes({0xe9, 0, 1, 0, 0})),
            (std::vector<Seen>{{0x1001, 0x1105, false, true}}));
  EXPECT_EQ(references_to(0x1106, bytes({0x0f, 0x84, 0, 1, 0, 0})),
            (std::vector<Seen>{{0x1002, 0x1106, false, true}}));
}

TEST(References, CallThroughAWordDiffersFromALoadOfIt) {
  EXPECT_EQ(references_to(0x1106, bytes({0xff, 0x15, 0, 1, 0, 0})),
            (std::vector<Seen>{{0x1002, 0x1106, true, false}}));
  EXPECT_EQ(references_to(0x1107, bytes({0x48, 0x8b, 0x05, 0, 1, 0, 0})),
            (std::vector<Seen>{{0x1003, 0x1107, false, false}}));
}

TEST(References, OperandMayBeFollowedByAnImmediate) {
  // movl $1, 0x100(%rip): counted from behind the four bytes of the 1
  EXPECT_EQ(references_to(0x110a, bytes({0xc7, 0x05, 0, 1, 0, 0, 1, 0, 0, 0})),
            (std::vector<Seen>{{0x1002, 0x110a, false, false}}));
}

TEST(References, WhatNoInstructionEndsInIsPassedOver) {
  EXPECT_THAT(references_to(0x1105, bytes({0x90, 0, 1, 0, 0})), IsEmpty());
  EXPECT_THAT(references_to(0x1105, bytes({0xe8, 0, 1})), IsEmpty()) << "cut short";
  EXPECT_THAT(references_to(0x1007, bytes({0x0f, 0x1f, 0x80, 0, 0, 0, 0})), IsEmpty())
      << "a nop before a function";
}

TEST(Ways, OutOfAShortFunction) {
  std::vector<std::pair<std::uint64_t, bool>> ways;
  for_each_way(bytes({0xe8, 0, 1, 0, 0, 0xff, 0x25, 0, 2, 0, 0}), 0x1000,
               [&](const Way& way) { ways.emplace_back(way.to, way.through_word); });
  EXPECT_EQ(ways, (std::vector<std::pair<std::uint64_t, bool>>{{0x1105, false}, {0x120b, true}}));
}

TEST(LandingPad, IsPartOfNoFunctionThatDoesNotBeginWithIt) {
  EXPECT_EQ(landing_pad_bytes(bytes({0xf3, 0x0f, 0x1e, 0xfa, 0x55})), 4u);
  EXPECT_EQ(landing_pad_bytes(bytes({0xf3, 0x0f, 0x1e, 0xfb})), 0u);
  EXPECT_EQ(landing_pad_bytes(bytes({0xf3, 0x0f, 0x1e})), 0u);
}

}  // namespace
}  // namespace fathom::arch
