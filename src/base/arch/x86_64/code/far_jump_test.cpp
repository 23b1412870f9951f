// The jumps that a patch is made of, and what they are recognised by later.
#include <gtest/gtest.h>

#include "base/arch/common/entry_plan.h"

namespace fathom::arch {
namespace {

TEST(FarJump, LeadsAnywhereAndIsRecognised) {
  for (const std::uint64_t target : {std::uint64_t{0}, std::uint64_t{0x7fff'1234'5678}, ~std::uint64_t{0}})
    EXPECT_EQ(far_jump_target(far_jump(target)), target);
}

TEST(FarJump, OtherBytesAreNone) {
  auto stub = far_jump(0x1000);
  stub[1] = std::byte{0x15};
  EXPECT_EQ(far_jump_target(stub), std::nullopt);
  const auto whole = far_jump(0x1000);
  EXPECT_EQ(far_jump_target(std::span(whole).first(13)), std::nullopt) << "cut short";
}

TEST(PatchedJump, SaysWhereItLeadsForwardsAndBackwards) {
  const std::array<std::byte, 5> forwards = {std::byte{0xe9}, std::byte{0x10}};
  EXPECT_EQ(patched_jump_target(forwards, {0x1000}), ProcessAddress{0x1015});
  const std::array<std::byte, 5> backwards = {std::byte{0xe9}, std::byte{0xf0}, std::byte{0xff},
                                              std::byte{0xff}, std::byte{0xff}};
  EXPECT_EQ(patched_jump_target(backwards, {0x1000}), ProcessAddress{0xff5});
}

TEST(PatchedJump, CallsAndCutCodeAreNone) {
  const std::array<std::byte, 5> call = {std::byte{0xe8}};
  EXPECT_EQ(patched_jump_target(call, {0x1000}), std::nullopt);
  const std::array<std::byte, 4> cut = {std::byte{0xe9}};
  EXPECT_EQ(patched_jump_target(cut, {0x1000}), std::nullopt);
}

}  // namespace
}  // namespace fathom::arch
