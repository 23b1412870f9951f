/* What the heap tracer, which runs inside the target, and the profiler share: the image that is placed in the
 * target, the shared memory between them, and the events in its rings. Plain C, no libc. Both sides refuse
 * another magic, version or size.
 *
 * Three pieces stand in the target:
 *   image    read and execute only: code and struct tracer_config (written from outside before any hook goes
 *            in, read by the tracer only). Mapped private; valid in forked children too.
 *   state    private anonymous memory, MADV_WIPEONFORK: a forked child finds zeros, and every hook then
 *            passes through. struct tracer_state_head at its start; the rest is the tracer's own.
 *   shared   a memfd, MADV_DONTFORK: struct tracer_shared, tables, rings. The profiler maps the same pages.
 *
 * Events carry stamps of the clock that tracer_shared::clock names. Limits of waiting are in ticks (base/arch/ticks.h)
 * whatever that clock is. Words that both sides touch are read and written with atomic loads and stores. */
#ifndef FATHOM_ABI_HEAP_TRACER_H
#define FATHOM_ABI_HEAP_TRACER_H

#include "base/abi/unwind_table.h"
#include "base/abi/walk.h"

#ifdef __cplusplus
#include <cstddef>
#endif

#define TRACER_MAGIC 0x7265636172746866ull /* "fhtracer" */
#define TRACER_VERSION 6

/* A hook is chosen by the shape of the function that it stands in for, not by its name. Arguments in order;
 * further ones are passed through untouched. */
enum tracer_shape {
  TRACER_MALLOC =
      0, /* (size) -> block: malloc valloc pvalloc mallocx mi_malloc[_aligned], new that does not throw */
  TRACER_CALLOC = 1,       /* (count, size) -> block: calloc mi_calloc */
  TRACER_ALIGNED = 2,      /* (alignment, size) -> block: memalign aligned_alloc */
  TRACER_POSIX = 3,        /* (block *out, alignment, size) -> 0 or an error: posix_memalign */
  TRACER_REALLOC = 4,      /* (block, size) -> block: realloc rallocx mi_realloc[_aligned] */
  TRACER_REALLOCARRAY = 5, /* (block, count, size) -> block */
  TRACER_XALLOCX = 6,      /* (block, size, extra, flags) -> size that it really has now; never moves */
  TRACER_FREE = 7,         /* (block): free cfree dallocx mi_free delete */
  TRACER_NEW = 8,        /* (size [, alignment]) -> block, or throws: operator new. An exception must not pass
                            through the tracer, so `partner` is called, which returns 0 instead; on 0 the
                            original is jumped to and its block is not recorded (lost_throwing counts it) */
  TRACER_FREE_SIZED = 9, /* (block, size): sdallocx mi_free_size free_sized, delete with a size */
  /* The same in something that is named first, as in a heap of mimalloc; of one size they are TRACER_ALIGNED.
   */
  TRACER_CALLOC_IN = 10,       /* (heap, count, size) -> block */
  TRACER_REALLOC_IN = 11,      /* (heap, block, size) -> block */
  TRACER_REALLOCARRAY_IN = 12, /* (heap, block, count, size) -> block */
  /* As TRACER_NEW. */
  TRACER_NEW_ARRAY = 13,    /* (count, size) -> block, or throws */
  TRACER_NEW_IN = 14,       /* (heap, size) -> block, or throws */
  TRACER_NEW_ARRAY_IN = 15, /* (heap, count, size) -> block, or throws */
  TRACER_SHAPES = 16
};
/* Shapes that throw have a row of partners each. */
#define TRACER_THROWING 4
static inline int tracer_throws(unsigned shape) {
  return shape == TRACER_NEW || shape >= TRACER_NEW_ARRAY;
}
static inline unsigned tracer_throwing_row(unsigned shape) {
  return shape == TRACER_NEW ? 0 : shape - TRACER_NEW_ARRAY + 1;
}
/* Functions of one shape in one process: several allocators, several names. */
#define TRACER_HOOKS 32
/* Allocators of one process. */
#define TRACER_ALLOCATORS 8
/* In the place of an allocator, for TRACER_FREE_SIZED: the function belongs to none and passes the block to a
 * hooked one. So its event only reports the size, and another one that frees follows. */
#define TRACER_NO_ALLOCATOR 255

/* At the start of the image. Offsets are from the start of the image; the image needs no relocation. */
struct tracer_image_header {
  u64 magic;
  u32 version;
  u32 text_bytes;    /* to be mapped read + execute, page-aligned; config lies inside, on pages of its own */
  u32 config_offset; /* struct tracer_config */
  u32 state_bytes;   /* of the state mapping, virtual; touched as far as needed */
  u32 hook_offset[TRACER_SHAPES][TRACER_HOOKS]; /* entries, which may be reached by a jump */
};

/* In the image, written from outside while no hook is in. */
struct tracer_config {
  u64 state;  /* address of the state mapping; 0: every hook passes through */
  u64 shared; /* address of struct tracer_shared in the target */
  /* Where a hook goes on: the function itself when calls come here through a slot, else the relocated start
   * of the function. 0: unused hook. */
  u64 original[TRACER_SHAPES][TRACER_HOOKS];
  /* Of shapes that throw: same arguments, does not throw. */
  u64 partner[TRACER_THROWING][TRACER_HOOKS];
  u8 allocator[TRACER_SHAPES][TRACER_HOOKS]; /* below TRACER_ALLOCATORS: which one the function belongs to;
                                                 TRACER_NO_ALLOCATOR */
};

/* At the start of the state mapping, whose other bytes are zeros at first. Written from outside before
 * tracer_config::state. */
struct tracer_state_head {
  u64 shared; /* the same as tracer_config::shared; 0 in a forked child, where nothing may touch that memory
               */
};

/* What the tracer does. */
enum tracer_mode {
  TRACER_OFF = 0,     /* pass through; also what a wiped state says */
  TRACER_SAMPLED = 1, /* Poisson by bytes; frees of sampled blocks */
  TRACER_EXACT = 2    /* every call */
};

/* What orders the events. */
enum tracer_clock {
  /* Stamps are ticks since tsc_base. For machines whose CPUs all read one counter of constant rate. */
  TRACER_CLOCK_COUNTER = 0,
  /* Each stamp is the word `sequence` after the event has added 1 to it. The addition is one step for all CPUs, so
   * stamps order events however wrong the counters are. The profiler moves the word forward to the nanoseconds since
   * sequence_base_ns whenever it looks, and events are further apart than a nanosecond: so a stamp is also a time,
   * which is early by as much as the profiler's last look is old. */
  TRACER_CLOCK_SEQUENCE = 1
};

/* tracer_shared::switched_off. A tracer that is paused records nothing until the profiler is heard from
 * again: the profiler empties the rings, writes its heartbeat, and changes TRACER_PAUSED to TRACER_HEARD. */
enum tracer_silence {
  TRACER_HEARD = 0,
  TRACER_PAUSED = 1, /* no heartbeat came for heartbeat_limit */
  TRACER_GONE = 2    /* none came for TRACER_GONE_FACTOR times as long: permanent */
};
#define TRACER_GONE_FACTOR 256
#define TRACER_SLEEP_NS 50000

/* How a hook was put in, for the journal. */
enum tracer_hook_kind {
  TRACER_HOOK_NONE = 0,
  TRACER_HOOK_SLOT = 1, /* 8 bytes at `address` hold a function's address */
  TRACER_HOOK_ENTRY = 2 /* up to 16 bytes of text at `address` are replaced */
};

/* One change of the target's memory. Written before the change and cleared after it is undone, so that any
 * process that finds the shared memory can restore the target. */
struct tracer_journal_entry {
  u64 address;
  u8 before[16], after[16];
  u8 length; /* 8 for a slot; 0: unused entry */
  u8 kind;   /* enum tracer_hook_kind */
  u8 in;     /* 1 while `after` stands, or may stand, in the target */
  u8 unused[5];
  u64 module_start; /* of the mapping that it lies in, for the reader of a journal */
};
#define TRACER_JOURNAL 1024

/* A mapping in the target that is the tracer's own. */
struct tracer_own_mapping {
  u64 address, bytes;
};
#define TRACER_OWN_MAPPINGS 32

/* table_epoch: above these bits, how often code was replaced by other code at the same addresses. */
#define TRACER_EPOCH_CODE_SHIFT 20

/* The head of the shared memory, at offset 0. Offsets are from its start. */
struct tracer_shared {
  u64 magic;
  u32 version, header_bytes; /* sizeof(struct tracer_shared) */
  u64 bytes;                 /* of the shared memory */
  s32 target_pid;            /* in the target's own pid namespace */
  s32 profiler_pid;          /* in the profiler's pid namespace */
  u64 profiler_start;        /* start time of that process, clock ticks since boot: who holds the target */

  /* orders, written by the profiler */
  u32 mode;            /* enum tracer_mode */
  u32 mean;            /* bytes between samples, of countdowns drawn from now on; >= 1 */
  u64 heartbeat;       /* stamp; written by the profiler at least every 0.5 s, another one each time */
  u64 heartbeat_limit; /* ticks without one after which the tracer pauses */
  u64 tsc_base;
  u64 sequence_base_ns; /* CLOCK_MONOTONIC of the profiler when the sequence was 0 */
  u32 clock;            /* enum tracer_clock; does not change while the tracer is in */
  u32 sleep_ticks;      /* what a sleep of TRACER_SLEEP_NS lasts at least */
  u64 wait_limit;       /* ticks that a thread may wait for room in its ring, exact mode; 0: never wait */
  u64 wait_total_limit; /* ticks that all threads together may wait, in all; 0: no such limit */
  u32 may_call_kernel;  /* 0: no system call (seccomp): no sleeping, and no safe reading of unknown stacks */
  u32 tid_offset;       /* of the thread's id in its thread control block (fs base); 0: unknown */
  u64 main_stack_start, main_stack_end; /* the first thread's, with the room it may grow into */

  /* the unwind tables, as in base/abi/unwind_table.h */
  u64 mappings_offset, pages_offset, rows_offset, rules_offset;
  u32 mappings_count, pages_count, rows_count, rules_count; /* room, in elements */
  u64 mapping_run; /* first mapping | number of mappings << 32: one word, exchanged as a whole */
  /* grows after each change of mapping_run: what a thread remembers of walks is void then. Its high bits grow when an
   * address means other code than before (TRACER_EPOCH_CODE_SHIFT): then stacks are sent again under new numbers. */
  u32 table_epoch;

  /* the rings */
  u32 ring_count;
  u32 ring_bytes;  /* of each ring's data, a power of two */
  u32 ring_stride; /* from one struct tracer_ring to the next, >= TRACER_RING_DATA + ring_bytes */
  u64 rings_offset;

  /* what happened, written by the tracer */
  u64 switched_off; /* enum tracer_silence; written by the profiler, too */
  u64 off_ticks;    /* stamp: when the tracer paused last; written before switched_off */
  u64 resumed_ticks; /* stamp: when it recorded again after that, 0: not yet. Everything from then on is recorded */
  u64 waited_total;  /* ticks that threads waited for room in their rings */
  u64 lost_no_ring;  /* events of threads for which no ring was free */
  u64 lost_no_slot;  /* events of threads beyond TRACER_THREADS */
  u64 lost_throwing; /* blocks of operator new that only its slow end could give */
  u64 lost_set_full; /* samples not recorded since the set of sampled blocks was full where they belong */
  u64 nested;        /* calls inside of another recorded call, or in a signal handler during one */
  u64 next_stack;    /* stack numbers given out so far */
  u64 rings_taken;   /* how often a thread took a ring; grows before the first record that it writes there */

  /* On a cache line of its own, as every thread writes to it. */
  u64 unused_before[8];
  u64 sequence;
  u64 unused_behind[8];

  u32 journal_count;
  u32 own_count;
  struct tracer_own_mapping own[TRACER_OWN_MAPPINGS]; /* image, state, shared, islands: what to unmap */
  struct tracer_journal_entry journal[TRACER_JOURNAL];
};

/* One ring. Its owner alone writes `head`, the profiler alone `tail`. Positions only grow; the place in the
 * data is position & (ring_bytes - 1). Records are multiples of 8 bytes and may wrap around. */
#define TRACER_MADE_UP 0x80000000u
#define TRACER_RING_DATA 4096 /* where the data starts, from the start of struct tracer_ring */
struct tracer_ring {
  /* tid of the owner; 0: free. The owner takes it by compare-and-exchange, from 0 or from the tid of the
   * thread that had the same control block before; the profiler takes it back, from the tid of a thread that
   * is gone to 0, once head == tail. TRACER_MADE_UP: no tid could be had; such a ring is never taken back. */
  u32 owner;
  u32 unused;
  u64 head;
  u64 lost;   /* records that found no room */
  u64 waited; /* ticks spent waiting for room */
  u64 padding[12];
  u64 tail;
};

/* Events. First word: stamp << 8 | kind. In one ring they stand in the order of their stamps, which are called ticks
 * here whatever the clock. */
enum tracer_event_kind {
  TRACER_EVENT_THREAD = 1,    /* { first, tid }: from here on the ring's events are this thread's */
  TRACER_EVENT_STACK = 2,     /* struct tracer_event_stack */
  TRACER_EVENT_ALLOC = 3,     /* struct tracer_event_alloc: exact mode; ticks: after the call returned */
  TRACER_EVENT_SAMPLE = 4,    /* struct tracer_event_sample: sampled mode */
  TRACER_EVENT_FREE = 5,      /* { first, block }: ticks before the call was made */
  TRACER_EVENT_REALLOC = 6,   /* struct tracer_event_realloc: exact mode */
  TRACER_EVENT_RESIZE = 7,    /* struct tracer_event_alloc: the block has a new size in place (xallocx) */
  TRACER_EVENT_FREE_SIZED = 8 /* { first, block, size }: as a free, with the size that the caller claims. Of
                                 TRACER_NO_ALLOCATOR its ticks may be 0: it stands right before its free */
};

struct tracer_event_thread {
  u64 first;
  u64 tid;
};

/* A stack at its first sight; sent before the first event that names it, in the same ring or another one. The
 * same stack may be sent again under another number. */
struct tracer_event_stack {
  u64 first;
  u32 stack; /* its number, from 1 */
  u16 count; /* addresses that follow, leaf first: return addresses, WALK_EXACT below a signal handler */
  u8 end;    /* enum walk_end */
  u8 unused;
  /* u64 address[count] */
};

struct tracer_event_alloc {
  u64 first;
  u64 block; /* address | allocator << 56 */
  u32 size;  /* as asked for, saturated at UINT32_MAX: then the next word holds it */
  u32 stack; /* 0: not walked */
};
/* Follows an alloc, resize or realloc whose size is UINT32_MAX: u64 size. */

struct tracer_event_sample {
  u64 first;
  u64 block; /* address | allocator << 56 */
  u64 size;
  u32 stack;
  u32 mean; /* that the countdown was drawn with: the sample stands for 1 / (1 - exp(-size / mean)) blocks */
};

struct tracer_event_free {
  u64 first;
  u64 block; /* address | allocator << 56 */
};

struct tracer_event_free_sized {
  u64 first;
  u64 block; /* address | allocator << 56 */
  u64 size;
};

struct tracer_event_realloc {
  u64 first;        /* ticks after the call returned */
  u64 old_block;    /* may be 0; | allocator << 56 */
  u64 ticks_before; /* when old_block could first have been freed */
  u64 new_block;    /* 0: freed by size 0. A call that failed sends nothing. */
  u32 size;
  u32 stack;
};

#define TRACER_FIRST(ticks, kind) ((u64)(ticks) << 8 | (u64)(kind))
#define TRACER_KIND(first) ((u32)((first)&0xff))
#define TRACER_TICKS(first) ((u64)(first) >> 8)
#define TRACER_BLOCK(address, allocator) ((u64)(address) | (u64)(allocator) << 56)
#define TRACER_BLOCK_ADDRESS(block) ((u64)(block) << 8 >> 8)
#define TRACER_BLOCK_ALLOCATOR(block) ((u32)((u64)(block) >> 56))

/* Most frames that the tracer walks. */
#define TRACER_MAX_FRAMES 512
/* Threads that can be known at once. */
#define TRACER_THREADS 2048

#ifdef __cplusplus
static_assert(sizeof(tracer_journal_entry) == 56, "both sides agree on the journal");
static_assert(sizeof(tracer_event_alloc) == 24 && sizeof(tracer_event_sample) == 32 &&
                  sizeof(tracer_event_stack) == 16 && sizeof(tracer_event_realloc) == 40 &&
                  sizeof(tracer_event_free_sized) == 24,
              "both sides agree on the events");
static_assert(offsetof(tracer_ring, tail) == 128, "the two sides of a ring write different cache lines");
#endif

#endif
