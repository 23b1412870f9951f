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

#include "abi/unwind_table.h"

namespace fathom::arch {

struct PrologueRow {
  std::uint32_t offset;  // bytes from the function's start
  unwind_rule rule;      // CFA_NONE where no path leads
  // The frame pointer's register itself still holds the caller's, wherever else it is saved.
  bool fp_intact;
};

// `code` is one whole function, entered by a call at its first byte. nullopt: it could not be followed.
std::optional<std::vector<PrologueRow>> rows_from_code(std::span<const std::byte> code);

}  // namespace fathom::arch
