/* What the program at the end of memory-mapping system calls sends, through the ring of the scheduler's
 * programs. Times are CLOCK_MONOTONIC nanoseconds. */
#ifndef FATHOM_ABI_MAPPING_EVENTS_H
#define FATHOM_ABI_MAPPING_EVENTS_H

#include "base/abi/cpu_events.h"

enum memory_event_kind { MEMORY_EVENT_CALL = 32 };

/* A call that succeeded: mmap, munmap, brk, mremap; madvise, if it gives pages back. */
struct memory_event {
  u8 kind;
  u8 anonymous; /* mmap: memory without a file, that can be accessed and is no stack */
  u16 number;   /* of the system call */
  u32 tid, pid;
  u32 unused;
  u64 time_ns;
  u64 stack_id;
  u64 address, length; /* the first two arguments */
  u64 argument;        /* the third: mremap's new length, madvise's advice */
  u64 result;          /* mmap, mremap: where it is now; brk: the end of the heap */
};

#ifdef __cplusplus
static_assert(sizeof(memory_event) == 64, "both sides agree on the event");
#endif

#endif
