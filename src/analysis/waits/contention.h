// Locks that threads waited for: by lock, and by waiting place. A lock is the address of its futex word, or
// the key under which parking_lot queues the thread (model/parked_lock.h); if threads wait at parkers of
// their own and no key is known, the address is the thread's and the place identifies the lock. The stacks
// of the wakers, recorded for waits above a threshold, show which code ended the waits. Waits that the idle
// rules know (a parked pool) are not contention; they are in WaitReport::idle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/waits.h"
#include "analysis/waits/distribution.h"
#include "analysis/waits/handed_on.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {

// One side of a wait: threads of one name in one place.
struct PartyRow {
  std::string thread;  // its name
  std::string site;
  WaitSum sum;
};

struct ContentionRow {
  std::string name;           // "0x7f12 of pid 10", "parked in Db::get", or the waiting place
  bool released = false;      // of a place: `name` is the own code that ended the waits
  std::uint64_t address = 0;  // of an object that has one
  std::int32_t pid = 0;
  bool is_private = false;
  std::string_view operation;  // of most waits seen first: "wait-bitset" ...
  FutexKind kind = FutexKind::kLock;
  bool handed_on = false;  // see HandedOnFutexes; of a place: most of the time spent there
  bool is_lock() const { return kind == FutexKind::kLock || kind == FutexKind::kReaderWriter || handed_on; }
  Distribution waits;
  // Of an object with an address: from the end of a thread's wait to the moment at which it ended the next thread's. Of
  // holders that had not waited themselves nothing is known.
  Distribution holds;
  std::vector<PartyRow> waiters;    // most time first
  std::vector<PartyRow> releasers;  // as far as known; thread "" is unknown
};

struct Contention {
  std::vector<ContentionRow> by_object;  // most time first
  std::vector<ContentionRow> by_site;
};

Contention find_contention(const Waits& waits, WaitSites& sites, const HandedOnFutexes& handed_on);

}  // namespace fathom::analysis
