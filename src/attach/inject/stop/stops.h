// How long threads of the target stood still for us: what is printed and what has a budget.
#pragma once

#include <cstdint>

namespace fathom::inject {

// Where the time went that threads of the target stood still for us.
struct Stops {
  std::uint32_t one_thread = 0;      // times that one thread was borrowed
  std::uint32_t all_threads = 0;     // times that all threads were stopped
  std::uint64_t longest_ns = 0;      // longest that one thread was borrowed
  std::uint64_t all_threads_ns = 0;  // longest that all threads stood, first to stop until last to go on
  std::uint64_t all_threads_total_ns = 0;  // all of these together
  std::uint32_t retries = 0;               // stops in vain: a thread was where it must not be
  std::uint32_t restarted_calls = 0;       // system calls started again that would have failed with EINTR
  std::uint32_t masks_lost = 0;            // threads whose signal mask could not be given back
  std::uint32_t moved_threads = 0;         // threads set from a patched start into its trampoline, or back
};

}  // namespace fathom::inject
