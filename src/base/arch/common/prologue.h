// Rows of the unwind table from the instructions of a function: what pushes, pops and moves the stack and frame
// pointers is followed along every path from the entry. Where two paths disagree, or the stack pointer goes
// where it cannot be followed, there are no rows at all: a walk with a wrong rule is worse than one that goes by
// the frame pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/abi/unwind_table.h"

namespace fathom::arch {

struct PrologueRow {
  std::uint32_t offset;  // bytes from the function's start
  unwind_rule rule;      // CFA_NONE where no path leads
  // The frame pointer register still holds the caller's value, even if it is saved elsewhere too.
  bool fp_intact;
};

// `code` is one whole function, entered by a call at its first byte. nullopt: it could not be followed.
std::optional<std::vector<PrologueRow>> rows_from_code(std::span<const std::byte> code);

// The same for code that begins with a function and has no known end: a stripped program.
struct FollowedCode {
  std::vector<PrologueRow> rows;  // CFA_NONE where no path leads
  bool returns;                   // a path came to a return with the stack as a caller has it
  // Jumps out of the code, as offsets from its start; they wrap for what lies before it.
  std::vector<std::uint64_t> leaves_to;
};

// `code` is entered by a call at its first byte and reaches to the next known function, so that others may lie
// behind this one. A call or a jump through a table after which paths contradict each other is taken as one that
// does not come back, instead of giving up: what lies behind it is another function. nullopt: not even the paths
// without calls could be followed.
std::optional<FollowedCode> rows_from_start(std::span<const std::byte> code);

}  // namespace fathom::arch
