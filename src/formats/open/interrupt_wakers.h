// A timer or a device that ends a wait does so on top of whatever thread it interrupted, and that thread is
// what the scheduler names as the waker. Its kernel stack tells: the wake-up lies above an interrupt's entry.
#pragma once

#include "model/profile.h"

namespace fathom::open {

// Takes such wakers off the waits, with their stacks: kNoThread, nobody did it. Softirqs that run at the end
// of a thread's own system call (a packet that it sent over loopback) are that thread's doing, and stay.
void drop_interrupt_wakers(model::Profile& profile);

}  // namespace fathom::open
