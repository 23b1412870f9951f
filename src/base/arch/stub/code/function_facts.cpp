#include "base/arch/common/function_facts.h"

namespace fathom::arch {

std::optional<FunctionFacts> function_facts(std::span<const std::byte>, std::uint64_t, const ImageRange&,
                                            std::span<const std::uint32_t>) {
  return std::nullopt;
}

}  // namespace fathom::arch
