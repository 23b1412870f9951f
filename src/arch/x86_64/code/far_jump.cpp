#include <cstring>

#include "arch/code/entry_plan.h"

namespace fathom::arch {

// jmp *0(%rip), the address behind it, int3. No register is touched, and nothing has to be within 2 GiB.
std::array<std::byte, kStubRoom> far_jump(std::uint64_t target) {
  constexpr std::array<std::uint8_t, kStubRoom> kCode = {0xff, 0x25, 0, 0, 0, 0, 0,    0,
                                                         0,    0,    0, 0, 0, 0, 0xcc, 0xcc};
  std::array<std::byte, kStubRoom> stub;
  std::memcpy(stub.data(), kCode.data(), stub.size());
  std::memcpy(stub.data() + 6, &target, sizeof target);
  return stub;
}

}  // namespace fathom::arch
