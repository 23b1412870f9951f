// The locks of parking_lot (Rust). Its threads wait at words of their own, next to which they keep the lock's address, at a place that each
// build of Rust chooses. Sources: parking_lot_core 0.9, parking_lot.rs (ThreadData); parking_lot 0.11 and 0.12, raw_mutex.rs and raw_rwlock.rs.
#pragma once

#include "analysis/stacks/describe.h"
#include "analysis/stacks/look.h"

namespace fathom::stacks {

// Replaces the address of each thread that waits for a lock of parking_lot: that of the lock, or 0 if it is unknown. The place of the lock's
// address is the only one at which every such thread of the process points to the word of a lock that is held and has waiters.
void find_parked_locks(const ProcessMemory& memory, Look& look);

}  // namespace fathom::stacks
