#include "base/arch/common/system_calls.h"

namespace fathom::arch {

std::span<const SystemCall> system_calls() {
  return {};
}

}  // namespace fathom::arch
