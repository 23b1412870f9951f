// System calls that are started again after a stop: none is known.
#pragma once

#include "base/arch/user_registers.h"

namespace fathom::arch {

inline bool ended_by_stop(const UserRegisters&) {
  return false;
}
inline void start_again(UserRegisters&) {}
inline UserRegisters as_in_user_mode(UserRegisters registers) {
  return registers;
}

}  // namespace fathom::arch
