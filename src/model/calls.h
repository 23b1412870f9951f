// Calls of functions that were asked for (record --probe). Sums and no events: an event for each call of a function that is
// called a million times would be another recording.
#pragma once

#include <compare>
#include <cstdint>

#include "model/ids.h"

namespace fathom::model {

// What was counted of one function from one stack, since the row of the same two before it.
struct Calls {
  std::uint64_t time_ns =
      0;  // when it was counted up: what is in the row was before, most often by less than a second
  FunctionId function;
  ProcessId process;
  StackId stack;            // its leaf is the function; 0: not walked, or lost
  std::uint64_t calls = 0;  // that began
  std::uint64_t counted_only =
      0;  // of these, those that were counted and no more: beyond --probe-limit, or no room
  std::uint64_t returned = 0;    // that began in the recording and were seen to end
  std::uint64_t total_ns = 0;    // of those that returned
  std::uint64_t longest_ns = 0;  // so far, not of this row alone
  std::uint64_t sized = 0;       // calls that told of a size
  std::uint64_t bytes = 0;       // of these
  bool timed = true;             // the ends of the function are seen; if not, no call of it has returned
  std::uint8_t end = 0;          // enum walk_end: how the walk of the stack ended
  auto operator<=>(const Calls&) const = default;
};

}  // namespace fathom::model
