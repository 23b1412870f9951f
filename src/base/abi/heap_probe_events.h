/* What the programs at a target's own otel_memory probes send, through the ring of the scheduler's programs. Times are
 * CLOCK_MONOTONIC nanoseconds. Source of the probes' meaning: OpenTelemetry eBPF profiler, design document 00003: alloc(pointer,
 * size, weight) for a sampled block, free(pointer) for one that was sampled. */
#ifndef FATHOM_ABI_HEAP_PROBE_EVENTS_H
#define FATHOM_ABI_HEAP_PROBE_EVENTS_H

#include "base/abi/unwind_table.h" /* integer types */

enum heap_probe_event_kind { HEAP_PROBE_EVENT_ALLOC = 48, HEAP_PROBE_EVENT_FREE = 49 };

#define HEAP_PROBE_VALUES 3 /* of an allocation; a free has the first one */

struct heap_probe_event {
  u8 kind;
  u8 unused[3];
  u32 tid, pid;
  u32 unused2;
  u64 time_ns;
  u64 stack_id; /* 0: not walked */
  u64 block;
  u64 size, weight; /* bytes; 0 of a free */
};

/* Of one process, since its probes were set. Several CPUs add to one. */
struct heap_probe_counters {
  u64 allocs, frees; /* breakpoints */
  u64 run_ns;
  u64 lost_allocs, lost_frees; /* the ring was full */
  u64 lost_weight;             /* bytes, of the former */
  u64 unread;                  /* a value was not in memory */
  u64 unwalked;                /* beyond the limit, or no buffer was free */
};

#ifdef __cplusplus
static_assert(sizeof(heap_probe_event) == 56, "both sides agree on the event");
#endif

#endif
