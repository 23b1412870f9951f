#include "base/arch/common/probe_operand.h"

namespace fathom::arch {

std::vector<ProbeOperand> probe_operands(std::string_view arguments) {
  if (arguments.empty()) return {};
  ProbeOperand none;
  none.problem = "fathom does not know the registers of this processor";
  return {none};
}

bool is_probe_place(std::span<const std::byte>) {
  return false;
}

}  // namespace fathom::arch
