#include "base/arch/common/prologue.h"

namespace fathom::arch {

std::optional<std::vector<PrologueRow>> rows_from_code(std::span<const std::byte>) {
  return std::nullopt;
}

std::optional<FollowedCode> rows_from_start(std::span<const std::byte>) {
  return std::nullopt;
}

}  // namespace fathom::arch
