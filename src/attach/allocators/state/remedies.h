// What would make a process smaller, from what its allocators hold: how much, by which call or setting, and what that
// costs. Pure. Nothing is listed that was not tried with a program (remedies_test.cpp, truth_test.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/allocators/state/state.h"

namespace fathom::allocators {

struct Remedy {
  std::string what;  // to be typed, or to be called: "MALLOC_TRIM_THRESHOLD_=131072"
  bool at_start;     // it is read when the program starts; else it can be called in the process that runs
  std::uint64_t gives_back = 0;  // resident bytes, as things are now; at most
  std::string how;               // what it does
  std::string price;
};

// The largest first; none that gives back less than `least` bytes. `prefix`: of the names of a jemalloc ("_rjem_"), whose
// variable is named after it; nullopt where it is not known.
std::vector<Remedy> remedies_of(const AllocatorState& state, std::optional<std::string> prefix = "",
                                std::uint64_t least = std::uint64_t{1} << 20);

}  // namespace fathom::allocators
