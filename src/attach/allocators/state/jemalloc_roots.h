// Finds the root of jemalloc's page tree in the writable data of a module: no symbol names it. Pure over
// PresentMemory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/allocators/state/jemalloc_layout.h"
#include "attach/allocators/state/jemalloc_shape.h"
#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/process_map.h"

namespace fathom::allocators::jemalloc {

struct Root {
  std::uint64_t address = 0;
  const TreeShape* shape = nullptr;
  std::string module;  // whose data contains it
};
// Candidates: places where at least one entry leads to a record that refers back.
std::vector<Root> find_roots(PresentMemory& memory, const ProcessMap& map);

// Whether a table or a leaf of that many bytes can be there.
bool can_be_table(const ProcessMap& map, std::uint64_t address, std::uint64_t bytes);
// nullopt: no record can be there, or it is not in memory.
std::optional<ExtentWords> read_record(PresentMemory& memory, const ProcessMap& map, std::uint64_t record);

}  // namespace fathom::allocators::jemalloc
