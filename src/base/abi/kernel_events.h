/* Events of the kernel that the user named (record -e): what the programs know of each, and what they send. Times are
 * CLOCK_MONOTONIC nanoseconds. */
#ifndef FATHOM_ABI_KERNEL_EVENTS_H
#define FATHOM_ABI_KERNEL_EVENTS_H

#include "base/abi/unwind_table.h" /* integer types */

#define MAX_KERNEL_EVENTS 1024
#define KERNEL_EVENT_RING (1 << 22)         /* bytes: 80,000 events between two looks */
#define KERNEL_EVENT_WINDOW_NS 100000000ull /* the budget is kept in each of these */

struct kernel_event_wanted {
  u32 budget; /* stacks in a window on one CPU; above it, one event in so many is sent. 0: each is sent */
  u32 field_offset; /* of the weight in the tracepoint's record */
  u32 field_size;   /* bytes: 1, 2, 4, 8; 0: each event counts as one */
  u32 field_signed;
};

/* An event, with the stack of the thread in which it happened. The stack is sent in the ring of waits before. */
struct kernel_event_record {
  u64 time_ns;
  u64 stack_id; /* 0: not walked */
  s64 value;    /* of all events that this one stands for */
  u32 pid, tid;
  u32 event;
  u32 cpu;
};

/* Of one event on one CPU. */
struct kernel_event_state {
  u64 count; /* of recorded processes, exact */
  s64 value; /* the same, by weight */
  u64 sent;
  u64 lost; /* events for which the ring had no room */
  u64 run_ns;
  u64 window_ns;
  u32 in_window, in_last_window;
};

#endif
