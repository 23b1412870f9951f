/* What the programs at breakpoints book, and what they are told of each probe. Times are CLOCK_MONOTONIC nanoseconds. */
#ifndef FATHOM_ABI_PROBE_ACCOUNTS_H
#define FATHOM_ABI_PROBE_ACCOUNTS_H

#include "base/abi/unwind_table.h" /* integer types */

#define MAX_PROBES 64
#define PROBE_ACCOUNTS 32768
#define PROBE_CALLS 65536            /* in progress, and those that were left without an end */
#define PROBE_SPAN_RING (1 << 22)    /* bytes: two seconds of calls at the usual limit */
#define PROBE_WINDOW_NS 100000000ull /* the limit is kept in each of these */

enum probe_size {
  PROBE_SIZE_NONE = 0,
  PROBE_SIZE_ARGUMENT = 1,
  PROBE_SIZE_POINTED = 2,
  PROBE_SIZE_RESULT = 3,
  PROBE_SIZE_VALUE = 4 /* of a place in the program: as its probe_value says */
};

/* What a call means for spans. */
enum probe_span_kind {
  PROBE_SPAN_NONE = 0,
  PROBE_SPAN_CALL = 1,  /* each timed call is sent, as a probe_span */
  PROBE_SPAN_BEGIN = 2, /* a span begins, known by the probe's value, or by the thread if it has none */
  PROBE_SPAN_END = 3    /* the span ends that the probe before this one began with the same value */
};

/* Where a place in the program keeps a value. Registers by DWARF number. */
enum probe_value_kind {
  PROBE_VALUE_NONE = 0, /* there is none, or it cannot be read */
  PROBE_VALUE_CONSTANT = 1,
  PROBE_VALUE_REGISTER = 2,
  PROBE_VALUE_MEMORY = 3
};
#define PROBE_NO_REGISTER 0xff
#define PROBE_REGISTER_PC 16 /* the address of the place itself */
#define MAX_PROBE_VALUES 2048

struct probe_value {
  s64 offset;   /* the constant; in memory: what is added to base and index */
  u8 kind;      /* enum probe_value_kind */
  u8 size;      /* bytes: 1, 2, 4, 8 */
  u8 is_signed; /* with fewer than 8 bytes: its sign goes up */
  u8 shift;     /* bits of the register below it */
  u8 base;      /* the register; of memory: PROBE_NO_REGISTER if none */
  u8 index;     /* of memory, times `scale` */
  u8 scale;     /* 1, 2, 4, 8 */
  u8 unused;
};

struct probe_wanted {
  s64 offset;
  u32 size;     /* enum probe_size */
  u32 argument; /* from 0 */
  u32 timed;    /* its ends are watched */
  u32 span;     /* enum probe_span_kind */
};

struct probe_key {
  u32 pid;
  u32 probe;
  u64 stack_id; /* 0: not walked */
};

/* Since the recording began. Several CPUs add to one. */
struct probe_account {
  u64 calls;
  u64 counted_only; /* of these: beyond the limit, or no room */
  u64 returned, total_ns, longest_ns;
  u64 sized, bytes;
};

struct probe_call_key {
  u64 stack_pointer; /* of a span that has begun: its value, or the thread */
  u32 pid;
  u32 probe;
};

struct probe_call {
  u64 start_ns;
  u64 stack_id;
  u32 tid;
  u32 unused;
};

/* A call or a span that ended: of probes that want spans. */
struct probe_span {
  u64 start_ns, end_ns;
  u32 pid;
  u32 tid; /* 0: it began on another thread than it ended on */
  u32 probe;
  u32 unused;
};

/* Of one CPU. */
struct probe_counters {
  u64 hits;        /* breakpoints, of recorded processes */
  u64 run_ns;      /* in calls that were walked, and their ends */
  u64 calls_lost;  /* no account was free */
  u64 stacks_lost; /* not walked, or the ring was full */
  u64 spans_lost;  /* the ring of spans was full */
};

/* What a breakpoint knows about itself. */
#define PROBE_COOKIE_NUMBER 0xffu
#define PROBE_COOKIE_RETURNS 0x100u     /* an end at which the result is known */
#define PROBE_COOKIE_CONDITIONAL 0x200u /* a jump that may not be taken */
#define PROBE_COOKIE_CONDITION 16       /* from this bit on: the condition, as of jump_is_taken() */
#define PROBE_COOKIE_VALUE 32           /* from this bit on: the number of its probe_value */

#endif
