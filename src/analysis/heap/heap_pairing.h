// Whether each block's allocation and free were seen in turn. What rests on that (a size that is not the block's, a second or a
// foreign free, what was never freed) is claimed of a process only where nothing is missing between the two. One answer for
// verdicts, sentences, exit statuses and JSON. Pure.
#pragma once

#include <cstdint>

#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

struct HeapPairing {
  // Something between an allocation and its free went unseen: a block may be another one by now.
  bool events_lost = false;    // also rings that were given up
  bool outages = false;        // nothing was recorded for a while, or to the end
  bool partly_hooked = false;  // of an allocator that is traced, a function is not
  bool frees_unseen =
      false;  // an address was allocated again without a free: calls in signal handlers, or other paths
  bool claims_impossible = false;  // the process says what it cannot have
  // Blocks of which nothing is known; those that are known have all of their events.
  bool unseen_allocators = false;
  bool missed_processes = false;

  // Errors of who frees may be claimed.
  bool proves_errors() const {
    return !events_lost && !outages && !partly_hooked && !frees_unseen && !claims_impossible;
  }
  // And statements about the heap may have high confidence.
  bool is_whole() const { return proves_errors() && !unseen_allocators && !missed_processes; }
};

// Of the heap of one process.
HeapPairing pairing_of(const model::Profile& profile, std::int32_t pid, const Selection& selection);

}  // namespace fathom::analysis
