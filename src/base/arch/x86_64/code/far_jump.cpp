#include <cstring>

#include "base/arch/common/entry_plan.h"

namespace fathom::arch {
namespace {

constexpr std::size_t kAddressAt = 6;  // in a stub

}  // namespace

// jmp *0(%rip), the address behind it, int3. No register is touched, and nothing has to be within 2 GiB.
std::array<std::byte, kStubRoom> far_jump(std::uint64_t target) {
  constexpr std::array<std::uint8_t, kStubRoom> kCode = {0xff, 0x25, 0, 0, 0, 0, 0,    0,
                                                         0,    0,    0, 0, 0, 0, 0xcc, 0xcc};
  std::array<std::byte, kStubRoom> stub;
  std::memcpy(stub.data(), kCode.data(), stub.size());
  std::memcpy(stub.data() + kAddressAt, &target, sizeof target);
  return stub;
}

std::optional<std::uint64_t> far_jump_target(std::span<const std::byte> stub) {
  static const auto kEmpty = far_jump(0);
  std::uint64_t target = 0;
  if (stub.size() < kAddressAt + sizeof target || std::memcmp(stub.data(), kEmpty.data(), kAddressAt) != 0)
    return std::nullopt;
  std::memcpy(&target, stub.data() + kAddressAt, sizeof target);
  return target;
}

std::optional<ProcessAddress> patched_jump_target(std::span<const std::byte> code, ProcessAddress at) {
  constexpr std::byte kJumpCode{0xe9};  // and a distance of 32 bits
  if (code.size() < kPatchedJumpBytes || code[0] != kJumpCode) return std::nullopt;
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + 1, sizeof distance);
  return ProcessAddress{at.value + kPatchedJumpBytes +
                        static_cast<std::uint64_t>(static_cast<std::int64_t>(distance))};
}

}  // namespace fathom::arch
