// Goroutines that wait for a lock, a channel or a timer leave their thread, which then runs another one or sleeps: the kernel sees no
// wait of theirs. What taking a contended lock costs in CPU time is seen, with the code that takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct GoLocks {
  // Where samples lie below the slow way of a sync.Mutex or sync.RWMutex: the function that takes it in most of them. "": fewer than
  // five do, or less than a fiftieth of all.
  std::string site;
  std::uint64_t at_locks = 0, samples = 0;
};

// nullopt: no code of Go was recorded.
std::optional<GoLocks> find_go_locks(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
