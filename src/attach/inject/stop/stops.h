// How long fathom stopped threads of the target: printed, and limited by a budget.
#pragma once

#include <cstdint>

namespace fathom::inject {

// Durations and numbers of stops.
struct Stops {
  std::uint32_t one_thread = 0;      // times that one thread was borrowed
  std::uint32_t all_threads = 0;     // times that all threads were stopped together
  std::uint64_t longest_ns = 0;      // longest that one thread was borrowed
  std::uint64_t all_threads_ns = 0;  // longest stop of all threads, from the first to stop until the last to
                                     // continue
  std::uint64_t all_threads_total_ns = 0;  // sum of all such stops
  std::uint32_t retries = 0;               // failed attempts: a thread was at a place where it must not be
  std::uint32_t restarted_calls = 0;       // system calls restarted that would have failed with EINTR
  std::uint32_t masks_lost = 0;            // threads whose signal mask could not be restored
  std::uint32_t moved_threads = 0;         // threads moved from a patched start into its trampoline, or back
};

}  // namespace fathom::inject
