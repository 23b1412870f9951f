#include "base/arch/common/stable_code.h"

namespace fathom::arch {

std::optional<std::vector<std::byte>> stable_code(std::span<const std::byte>, ElfAddress, const ImageRange&) {
  return std::nullopt;
}

}  // namespace fathom::arch
