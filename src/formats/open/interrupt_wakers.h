// When a timer or a device ends a wait, the wake-up runs on top of whatever thread it interrupted, and the
// scheduler reports that thread as the waker. Three facts show it: the wake-up is above an interrupt's entry
// on the waker's kernel stack; the waker belongs to another process, and the wait was for a futex that only
// one process knows; a poll came back because of its timeout. The last two matter for threads that are not
// recorded and so have no stack: on a busy machine most timers interrupt one of those.
#pragma once

#include "model/profile.h"

namespace fathom::open {

// Removes such wakers and their stacks from the waits: kNoThread, no thread caused it. Softirqs that run at
// the end of a thread's own system call (a packet that it sent over loopback) are that thread's work, and
// stay.
void drop_interrupt_wakers(model::Profile& profile);

}  // namespace fathom::open
