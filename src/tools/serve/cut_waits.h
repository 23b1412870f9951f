// Waits that cross the edge of a window. Each moment of a wait belongs to one window, so sums over windows are the sums of one
// recording; when windows are read together, the parts become one wait again. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "model/profile.h"

namespace fathom::serve {

inline std::uint64_t end_of(const model::Wait& wait) {
  return wait.start_ns + wait.waited_ns + wait.queued_ns;
}

// The part of `wait` in [from, until); nullopt: it has none. A wait that took no time belongs to the window of its moment.
std::optional<model::Wait> part_of(const model::Wait& wait, std::uint64_t from_ns, std::uint64_t until_ns);

// Joins the parts of waits that were cut between windows which follow each other, and corrects the number of waits in the
// quality. (That of a thread is the kernel's own count and right already.) Sorts the waits by time.
void join_parts(model::Profile& profile);

}  // namespace fathom::serve
