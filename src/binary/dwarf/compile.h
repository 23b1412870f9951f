// .eh_frame or .debug_frame, compiled in one pass: functions and, for each, the rows that a walk needs. Pure;
// bytes are untrusted and whatever cannot be used is counted.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "binary/dwarf/frame_section.h"
#include "binary/dwarf/rule_set.h"

namespace fathom::dwarf {

// The rule of a RuleSet that holds from `offset` bytes after the function's start on.
struct CfiRow {
  std::uint32_t offset;
  std::uint16_t rule;
};

struct CfiFunction {
  ElfAddress start;
  std::uint32_t size;  // bytes
  std::uint32_t first_row;
  std::uint32_t row_count;  // at least one; the first has offset 0, neighbours differ
};

struct CfiFunctions {
  std::vector<CfiFunction> functions;  // in the order of the section
  std::vector<CfiRow> rows;
  std::uint64_t skipped = 0;      // FDEs that could not be read
  std::uint64_t unsupported = 0;  // rows whose rule cannot be expressed
  bool cut_short = false;
};

// Appends to `out`; rules go to `rules`.
void compile(const FrameSection& section, RuleSet& rules, CfiFunctions& out);

}  // namespace fathom::dwarf
