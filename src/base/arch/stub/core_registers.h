// A thread's state in a core file: not known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/arch/user_registers.h"

namespace fathom::arch {

inline constexpr std::size_t kStatusSignal = 0, kStatusTid = 0, kStatusRegisters = 0,
                             kStatusBytes = sizeof(UserRegisters);

inline constexpr std::array<std::string_view, kDwarfRegisters> kRegisterNames = {"pc"};

struct CallInProgress {
  std::int32_t number = -1;
  std::array<std::uint64_t, 4> arguments = {};
};
inline std::optional<CallInProgress> call_in_progress(const UserRegisters&) {
  return std::nullopt;
}

}  // namespace fathom::arch
