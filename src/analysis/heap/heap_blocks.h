// Single blocks of the heap by name: those that a reader was asked to keep (the largest and the oldest that
// are live), with who allocated them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct HeapBlockRow {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  double allocated_s = 0;         // from the start of the recording
  std::optional<double> freed_s;  // the same; none: it is live at the end
  double age_s = 0;               // when it was freed, or at the end
  double stands_for = 1;          // so many blocks, where the heap was sampled
  std::string thread;             // that allocated it; empty: threads were not distinguished
  std::string function;           // that wanted the memory
  std::string module;
};

// Largest first. Of the threads and processes that the selection takes, whatever its window.
std::vector<HeapBlockRow> heap_blocks(const model::Profile& profile, const Selection& selection);
// Of these at most so many, in order of age.
std::vector<HeapBlockRow> oldest_first(std::vector<HeapBlockRow> rows, std::size_t most);

}  // namespace fathom::analysis
