#include "base/arch/common/entry_plan.h"

namespace fathom::arch {

Result<EntryPlan> plan_entry(std::span<const std::byte>, ProcessAddress, ProcessAddress, ProcessAddress,
                             std::span<const std::uint8_t>) {
  return fail(ErrorKind::kUnsupported, "the start of a function cannot be patched on this processor");
}

std::array<std::byte, kStubRoom> far_jump(std::uint64_t) {
  return {};
}

std::optional<std::uint64_t> far_jump_target(std::span<const std::byte>) {
  return std::nullopt;
}

std::optional<ProcessAddress> patched_jump_target(std::span<const std::byte>, ProcessAddress) {
  return std::nullopt;
}

}  // namespace fathom::arch
