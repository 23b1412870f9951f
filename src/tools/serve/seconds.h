#pragma once

#include <cstdint>

namespace fathom::serve {

inline constexpr std::uint64_t kSecondNs = 1'000'000'000;

}  // namespace fathom::serve
