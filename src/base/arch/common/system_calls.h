// The system calls of Linux on this processor.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fathom::arch {

struct SystemCall {
  std::int32_t number;
  std::string_view name;
  bool takes_descriptor;  // as its first argument
};

// Ascending by number.
std::span<const SystemCall> system_calls();

}  // namespace fathom::arch
