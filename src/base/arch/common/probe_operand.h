// The arguments of a static probe (USDT), as the compiler's operands name them, to what the programs in the kernel can read.
// Source: the format of SystemTap's <sys/sdt.h>: for each argument SIZE@OPERAND, with the operand in the assembler's words; a
// negative size is that of a signed number, an f behind it that of a floating one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/abi/probe_accounts.h"

namespace fathom::arch {

struct ProbeOperand {
  probe_value value{};
  // Not empty: a name whose address is still to be added to value.offset; with PROBE_REGISTER_PC as the base, its distance from
  // the place of the probe.
  std::string symbol{};
  std::string
      problem{};  // why it cannot be read, as the end of a sentence: value.kind is PROBE_VALUE_NONE then
};

// In their order, at most 12, which is as many as a probe has. The text is a stranger's: what is no operand is one with a problem.
std::vector<ProbeOperand> probe_operands(std::string_view arguments);

// Whether the code from a probe's place on begins with the instruction that does nothing, which is what the assembler put there:
// a breakpoint anywhere else could change what the program does.
bool is_probe_place(std::span<const std::byte> code);

}  // namespace fathom::arch
