// The changed rows of mutable tables, reported by the code that changes them: a search for them would take
// longer the longer a recording lasts.
#pragma once

#include <cstdint>
#include <vector>

namespace fathom::store {

struct ChangedRows {
  std::vector<std::uint32_t> processes, threads;  // ascending, without duplicates
};

}  // namespace fathom::store
