// When a timer or a device ends a wait, the wake-up runs on top of whatever thread it interrupted, and the
// scheduler reports that thread as the waker. Its kernel stack shows this: the wake-up is above an
// interrupt's entry.
#pragma once

#include "model/profile.h"

namespace fathom::open {

// Removes such wakers and their stacks from the waits: kNoThread, no thread caused it. Softirqs that run at
// the end of a thread's own system call (a packet that it sent over loopback) are that thread's work, and
// stay.
void drop_interrupt_wakers(model::Profile& profile);

}  // namespace fathom::open
