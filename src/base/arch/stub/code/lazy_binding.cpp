#include "base/arch/common/lazy_binding.h"

namespace fathom::arch {

std::optional<BindingFrame> binding_frame(std::span<const std::byte>, ElfAddress) {
  return std::nullopt;
}

bool finds_binding_frame(const unwind_rule&) {
  return false;
}

}  // namespace fathom::arch
