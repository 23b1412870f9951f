// Waits for other threads that nothing ended: threads that are stuck look like this, and idle ones that no rule knows. What sets
// them apart is who used to wake them, if the recording has seen that: a notifier that has exited wakes no thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/waits.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {

// Threads that wait in one place of the program.
struct UnendedRow {
  std::string site;
  FutexKind kind = FutexKind::kCondition;
  std::uint64_t threads = 0;
  std::uint64_t shortest_ns = 0, longest_ns = 0;  // so far
  // All threads that woke them in this place earlier in the recording have exited: the last of them.
  bool is_waker_gone = false;
  std::string waker;
  std::int32_t waker_tid = 0;
  std::uint64_t wakers = 0;          // how many there were
  std::uint64_t waker_ended_ns = 0;  // from the start of the recording
};

// Waits at a futex that were in progress at the end and have taken at least a second, and half of the recording if their wakers
// are not gone. Those for locks, which
// have holders, are not among them, nor joins, which is how programs wait for their own end. Idle ones count only if they are known by
// statistics and their wakers are gone. Most threads first.
std::vector<UnendedRow> find_unended_waits(const Waits& waits, WaitSites& sites);

}  // namespace fathom::analysis
