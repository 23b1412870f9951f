// Which bytes of a function stay the same wherever a linker puts it.
#include "base/arch/common/stable_code.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace fathom::arch {
namespace {

constexpr ElfAddress kHere{0x2000};
constexpr ImageRange kAnywhere{0, 0x10'0000};
constexpr ImageRange kFixed{0x40'0000, 0x50'0000};

using Bytes = std::vector<std::byte>;

// An instruction, made long enough by ones that do nothing, and a return.
Bytes function(std::initializer_list<int> instruction) {
  Bytes code;
  for (const int byte : instruction) code.push_back(static_cast<std::byte>(byte));
  while (code.size() < 39) code.push_back(std::byte{0x90});
  code.push_back(std::byte{0xc3});
  return code;
}
bool same(std::initializer_list<int> a, std::initializer_list<int> b, const ImageRange& image = kAnywhere) {
  const auto first = stable_code(function(a), kHere, image), second = stable_code(function(b), kHere, image);
  EXPECT_TRUE(first && second);
  return first == second;
}

TEST(StableCode, WhereACallLeadsAndWhereDataLiesIsNotOfTheFunction) {
  EXPECT_TRUE(same({0xe8, 0x10, 0x20, 0, 0}, {0xe8, 0x50, 0x61, 0, 0})) << "call";
  EXPECT_TRUE(same({0xe9, 0x10, 0x20, 0, 0}, {0xe9, 0x50, 0x61, 0, 0})) << "jump out of it";
  EXPECT_TRUE(same({0x48, 0x8b, 0x05, 1, 2, 3, 0}, {0x48, 0x8b, 0x05, 9, 8, 7, 0}))
      << "mov rax, [rip + disp]";
}

TEST(StableCode, WhatItDoesIs) {
  EXPECT_FALSE(same({0xe9, 0x08, 0, 0, 0}, {0xe9, 0x09, 0, 0, 0})) << "jump within";
  EXPECT_FALSE(same({0xb8, 1, 2, 3, 0}, {0xb8, 1, 2, 4, 0})) << "mov eax, number";
  EXPECT_FALSE(same({0x48, 0x8b, 0x05, 1, 2, 3, 0}, {0x48, 0x8b, 0x0d, 1, 2, 3, 0}))
      << "into another register";
  EXPECT_FALSE(same({0x48, 0x8b, 0x83, 1, 2, 3, 0}, {0x48, 0x8b, 0x83, 9, 2, 3, 0}))
      << "a field: [rbx + disp]";
}

TEST(StableCode, AnAddressOfAProgramThatLiesFixedIsNoNumber) {
  const std::initializer_list<int> a = {0xbf, 0x34, 0x12, 0x41, 0},
                                   b = {0xbf, 0x78, 0x56, 0x42, 0};  // mov edi
  EXPECT_TRUE(same(a, b, kFixed));
  EXPECT_FALSE(same(a, b, kAnywhere));
  EXPECT_FALSE(same({0xbf, 0x34, 0x12, 0x01, 0}, {0xbf, 0x34, 0x12, 0x02, 0}, kFixed)) << "outside of it";
  EXPECT_TRUE(same({0x8b, 0x04, 0x85, 0, 0, 0x41, 0}, {0x8b, 0x04, 0x85, 0, 1, 0x42, 0}, kFixed))
      << "mov eax, [rax * 4 + table]";
}

TEST(StableCode, StubsAndWhatIsNoCodeSayNothing) {
  EXPECT_EQ(stable_code(Bytes(31, std::byte{0x90}), kHere, kAnywhere), std::nullopt);
  EXPECT_EQ(stable_code({}, kHere, kAnywhere), std::nullopt);
  EXPECT_EQ(stable_code(Bytes(64, std::byte{0x06}), kHere, kAnywhere), std::nullopt) << "no instruction";
  Bytes cut(64, std::byte{0x90});
  cut.back() = std::byte{0xe8};
  EXPECT_EQ(stable_code(cut, kHere, kAnywhere), std::nullopt) << "a call without its target";
}

TEST(StableCode, TheSizeDistinguishesFunctionsThatBeginAlike) {
  const Bytes large((256 << 10) + 100, std::byte{0x90}), larger((256 << 10) + 101, std::byte{0x90});
  EXPECT_NE(stable_code(large, kHere, kAnywhere), stable_code(larger, kHere, kAnywhere));
  EXPECT_LT(stable_code(larger, kHere, kAnywhere)->size(), larger.size());
}

}  // namespace
}  // namespace fathom::arch
