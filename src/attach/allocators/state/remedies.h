// What would make a process smaller, based on what its allocators hold: how much, with which call or setting,
// and at what cost. Pure. Only lists remedies that were tried with a program (remedies_test.cpp,
// truth_test.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/allocators/state/state.h"

namespace fathom::allocators {

struct Remedy {
  std::string what;  // to type or to call: "MALLOC_TRIM_THRESHOLD_=131072"
  bool at_start;     // true: read when the program starts; false: can be called in the running process
  std::uint64_t gives_back = 0;  // resident bytes in the current state; an upper limit
  std::string how;               // what it does
  std::string price;
};

// The largest first; none that gives back less than `least` bytes. `prefix`: of the names of a jemalloc
// ("_rjem_"), which is part of its variable's name; nullopt if unknown.
std::vector<Remedy> remedies_of(const AllocatorState& state, std::optional<std::string> prefix = "",
                                std::uint64_t least = std::uint64_t{1} << 20);

}  // namespace fathom::allocators
