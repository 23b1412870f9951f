#include "base/arch/common/exception_exits.h"

namespace fathom::arch {

std::vector<std::size_t> exception_exits(std::span<const std::byte>) {
  return {};
}

std::optional<std::size_t> first_overwrite(std::span<const std::byte>) {
  return std::nullopt;
}

}  // namespace fathom::arch
