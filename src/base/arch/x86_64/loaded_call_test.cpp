#include "base/arch/loaded_call.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom::arch {
namespace {

std::optional<std::int32_t> call_of(std::initializer_list<int> code) {
  std::vector<std::byte> bytes;
  for (const int byte : code) bytes.push_back(static_cast<std::byte>(byte));
  return loaded_call(bytes);
}

TEST(LoadedCall, IsTheNumberThatTheInstructionBeforeLoads) {
  EXPECT_EQ(call_of({0x89, 0xd7, 0xb8, 0xe6, 0, 0, 0, 0x0f, 0x05}), 230) << "mov $230, %eax";
  EXPECT_EQ(call_of({0x48, 0xc7, 0xc0, 0xca, 0, 0, 0, 0x0f, 0x05}), 202) << "mov $202, %rax";
}

TEST(LoadedCall, IsUnknownWhereItComesFromElsewhere) {
  EXPECT_EQ(call_of({0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x48, 0x89, 0x0f, 0x05}), std::nullopt) << "syscall(2)";
  EXPECT_EQ(call_of({0x89, 0xd7, 0xb8, 0xe6, 0, 0, 0, 0x90, 0x90}), std::nullopt) << "no system call";
  EXPECT_EQ(call_of({0xb8, 0xe6, 0, 0, 0, 0x0f, 0x05}), std::nullopt) << "cut off";
}

}  // namespace
}  // namespace fathom::arch
