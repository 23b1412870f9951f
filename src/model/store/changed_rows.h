// Which rows of tables that change have changed, told by whoever changes them: looking for them would take
// longer the longer a recording lasts.
#pragma once

#include <cstdint>
#include <vector>

namespace fathom::store {

struct ChangedRows {
  std::vector<std::uint32_t> processes, threads;  // ascending, none twice
};

}  // namespace fathom::store
