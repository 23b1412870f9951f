// What the holder of a lock did while others waited for it: it slept, waited for a disk, or could run and had no CPU (priority
// inversion). Without that, the waiters' place is named, where nothing can be changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/core/waits.h"

namespace fathom::analysis {

struct HolderDelay {
  std::string lock_site;  // where most of the waiters wait
  std::string holder;     // the thread that ended these waits
  std::string site;       // where it waited itself, in its own code
  std::string label;      // "fsync of /data/x"; "" in the run queue
  Cause cause = Cause::kUnknown;
  double ns =
      0;  // of the waits for locks: the holder did this meanwhile. At least: unwalked waits are not known
  double all_locks_ns = 0;  // of all waits for locks
};

// The reason that delays most; nullopt: there is none that takes three tenths of the time at locks. Waits at locks that the holder had
// to queue for itself are no reason.
std::optional<HolderDelay> find_holder_delay(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
