// Which thread another one waited for in the end. The thread that ended a wait has often waited itself
// meanwhile, for another thread: "main waited 40 ms for worker <- worker waited 38 ms in fsync of x.log".
// Found from the wakers and from waits that overlap in time; unwalked waits (Wait::weight) cannot be linked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/waits.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {

// Whether a thread ends waits of that cause. A timer or a disk ends other waits: then the recorded waker is
// the thread that was interrupted.
bool is_ended_by_a_thread(Cause cause);

struct ChainHop {
  std::string thread;
  std::int32_t tid = 0;  // of the longest wait of its row
  Cause cause = Cause::kUnknown;
  std::string label;     // "fsync of /data/x"
  std::string site;      // where in its own code
  std::uint64_t ns = 0;  // the part that delays the hop before it; the whole wait in the first
};

// Waits that were ended by the same threads for the same reasons; the hops are those of the longest.
struct ChainRow {
  std::vector<ChainHop> hops;  // the first is the wait to explain; at least two
  std::string waker;           // the thread that ended the last hop, if it is known and did not wait itself
  std::int32_t waker_tid = 0;
  WaitSum sum;  // of the first hops
};

// Most time first; of the longest waits of the selection, idle ones left out.
std::vector<ChainRow> find_chains(const Waits& waits, WaitSites& sites);

}  // namespace fathom::analysis
