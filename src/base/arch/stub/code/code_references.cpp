#include "base/arch/common/code_references.h"

namespace fathom::arch {

void add_references(std::span<const std::byte>, std::uint64_t, CodeReferences&) {}

std::vector<ThreadStart> thread_starts(std::span<const std::byte>, std::uint64_t) {
  return {};
}

bool is_signal_return(std::span<const std::byte>) {
  return false;
}

}  // namespace fathom::arch
