// From what functions cost themselves and what each of their calls cost, to stacks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace fathom::formats {

struct CallCosts {
  std::vector<std::uint64_t> self;  // by function
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>
      of_calls;  // (caller, callee): with all below
};

// A path from the start of the program: its last function, and the path that called it.
struct CallPath {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t caller = kNone;  // row of a path before
  std::uint32_t function = 0;
  std::int64_t value = 0;  // what of the function's own cost is on this path
};

// The values of the paths that end in a function add up to what it cost itself. A call within a call of the same function
// is not followed, and neither are paths that are less than a 100,000th of all.
std::vector<CallPath> paths_of(const CallCosts& costs);

}  // namespace fathom::formats
