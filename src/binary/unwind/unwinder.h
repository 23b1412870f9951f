// One thread's registers and a copy of its stack -> frame addresses. Pure: no I/O, no clock. The stepping
// itself is base/arch/step.h, the same source that runs in the kernel; here are its eyes in user mode. Follows
// pc, sp and fp only, so it cannot serve a debugger.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/abi/walk.h"
#include "base/address.h"
#include "base/arch/dwarf_registers.h"
#include "binary/unwind/address_space.h"

namespace fathom::unwind {

// By DWARF number. Code whose CFA is counted from another register than sp and fp needs
// them, and then only in the first frame.
struct RegisterValues {
  std::array<std::uint64_t, arch::kDwarfRegisters> values{};
  std::uint32_t known = 0;  // bit n: values[n] is set
};

struct UnwindInput {
  std::uint64_t pc = 0, sp = 0, fp = 0;  // at the sampled instruction; fp 0 if not known
  const RegisterValues* registers = nullptr;
  ProcessAddress stack_start;  // address of stack[0]
  std::span<const std::byte>
      stack;  // often shorter than the real stack; then the walk ends in WALK_STACK_CUT
};

// 8 bytes of the process's code; nullopt if they cannot be read. Used to separate return addresses from
// numbers that only look like them; without it every address in code is believed.
using CodeReader = std::function<std::optional<std::uint64_t>(ProcessAddress)>;

class Unwinder {
 public:
  // `space` outlives the unwinder. One Unwinder serves many walks, one thread at a time.
  explicit Unwinder(const AddressSpace& space, CodeReader read_code = {});

  // Appends to `out`, leaf first, at most WALK_MAX_FRAMES. A walk that stops early is ordinary in sampling
  // and no error: what was found is kept, and the reason is returned, to be counted and shown.
  walk_end unwind(const UnwindInput& input, std::vector<FrameAddress>& out) const;

 private:
  const AddressSpace& space_;
  CodeReader read_code_;
};

}  // namespace fathom::unwind
