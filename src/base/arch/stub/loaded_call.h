// Which system call the code in front of the instruction that makes it asks for: none is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fathom::arch {

inline constexpr std::size_t kCodeOfCall = 1;
inline std::optional<std::int32_t> loaded_call(std::span<const std::byte>) {
  return std::nullopt;
}

}  // namespace fathom::arch
