/* The memory of the tracer in the target: struct state, in a private mapping of its own that is all zeros at
 * first and again in forked children. Also read by hooks.S, which knows the offsets as numbers.
 *
 * Virtual size is generous, as only what is touched costs: a thread in exact mode touches some 30 KiB. */
#ifndef FATHOM_TRACER_STATE_H
#define FATHOM_TRACER_STATE_H

/* What hooks.S needs to know. */
#define CONFIG_STATE 0
#define CONFIG_ORIGINAL 16
#define CONFIG_ALLOCATOR 5136
#define HOOKS_LOG2 5 /* of TRACER_HOOKS */
#define RING_HEAD 8
#define RING_DATA 4096

#define STATE_MODE 8
#define STATE_FIRST_BIAS 16
#define STATE_TID_OFFSET 24
#define STATE_SEQUENCE 32
#define STATE_SIEVE 512
#define STATE_FILTER 4096
#define STATE_BITMAP (STATE_FILTER + (1 << 13))
#define STATE_SLOTS (STATE_BITMAP + (1 << 17))
#define SLOT_COUNTDOWN 8
#define SLOT_TID 16
#define SLOT_MODE 20
#define SLOT_BUSY 24
#define SLOT_RING 32
#define SLOT_HEAD 40
#define SLOT_LIMIT 48
#define SLOT_BIAS 56
#define STATE_BYTES 138817536

#define HASH_FACTOR 0x9e3779b97f4a7c15
#define HASH_FACTOR_32 0x9e3779b1 /* of the low half of an address */
#define SLOTS_LOG2 11
#define SLOT_SIZE_LOG2 6
#define BITMAP_LOG2 20
#define FILTER_LOG2 16
#define SIEVE_LOG2 12

/* struct call */
#define CALL_AFTER 0
#define CALL_ARGUMENTS 72
#define CALL_HOOK 120
#define CALL_TARGET 128
#define CALL_SLOT 136
#define CALL_SIZE 152
#define CALL_FRAME 176 /* the return address and the caller's fp stand behind it */

#ifndef __ASSEMBLER__
#include "base/abi/heap_tracer.h"

/* What a thread is, found by the address of its control block. One cache line; only the thread itself writes
 * to it, but for the key. */
struct slot {
  u64 key;       /* the thread control block (fs:0); 0: free */
  u64 countdown; /* bytes until the next sample; 0 in exact mode, so that every call leaves the fast path of
                    the others */
  u32 tid;       /* of the thread that this block belonged to when we looked last; 0: never */
  u32 mode;      /* that the countdown is made for */
  u64 busy_sp;   /* not 0: inside of a call that is being recorded, whose frame is here; odd: inside of
                    path_free */
  u64 ring;      /* address of its struct tracer_ring, or 0 */
  u64 head;      /* of the ring */
  u64 limit;     /* how far head may go before anything is to be looked at: thread::room_end,
                    thread::credit_end, or the end of the ring's memory */
  u64 bias;      /* address of the word at a position of the ring, minus that position, up to the limit */
};

/* A frame of the stack that was walked last, the root first: what each walk compares. */
struct frame {
  u64 pc; /* with WALK_EXACT; stands right below sp, but for a frame that a signal interrupted */
  u64 sp;
};

/* Other facts about it, if it is not plain. */
struct frame_more {
  u64 step; /* STEP_*: see rules.h */
  /* the rest is true only where fp matters */
  u64 fp;
  u64* fp_saved;  /* with STEP_CHECKED: where the caller's fp is read from if it is needed there, else
                   * &callers_fp */
  u64 callers_fp; /* what was read */
};

/* A frame that the walk in progress has found, the leaf first. */
struct fresh_frame {
  u64 pc, sp;
  u64 fp;   /* if a step further out asked for fp */
  u64 step; /* the rule that was followed, or with STEP_DESCRIBED the known facts about the step */
};

#define WINDOW_BYTES 4096

struct state;
/* What only the slow paths of a thread need. */
struct thread {
  /* where the thread's stack may be read: [low, high), found out for this thread */
  u64 stack_low, stack_high;
  u64 random;
  u64 room_end;   /* how far the ring's head may go: the tail that we saw last + ring_bytes */
  u64 credit_end; /* where in the ring all is looked at again: heartbeat, owner of the ring, orders. Not 0
                     only if the ring is this thread's and knows its tid */
  u32 mean;       /* that the countdown was drawn with */
  u32 announced;  /* TRACER_EVENT_THREAD was sent */
  u32 impatient;  /* a wait failed: no more waiting until the ring was seen half empty */
  u32 retry_ring; /* events until a ring is asked for again */
  u64 heard,
      heard_at; /* the heartbeat that was seen last, and ticks when it was new; where the sequence is the clock */
  /* the walk before */
  u32 walked_count; /* of frames */
  u32 frame_count;  /* the same if the next walk may build on them, else 0 */
  u32 table_epoch;
  u32 plain;   /* so many of them, the root first: neither they nor any step further out need more */
  u32 end;     /* enum walk_end of that walk */
  u32 checked; /* 1 + the number of its first frame that has STEP_CHECKED, and all others then have it; 0:
                  none */
  u32 number;  /* of that stack, 0: it has none */
  u32 walks;   /* chooses what makes room in the set of stacks */
  u64 window_start, window_bytes;
  struct state* state;
  const struct tracer_shared* shared;
  u64* rules; /* of the state, and what the epoch adds to them: see rules.h */
  u64 rule_epoch;
  u64 low, high;         /* what the walk in progress may read directly: a word may start in [low, high] */
  u32 through_kernel;    /* and whether it may read other memory through the kernel */
  struct frame no_frame; /* is frames[-1], above all others */
  struct frame frames[TRACER_MAX_FRAMES];
  u64 hashes[TRACER_MAX_FRAMES]; /* of the frames from the root to each, and of how the walk ended */
  struct frame_more more[TRACER_MAX_FRAMES];
  struct fresh_frame fresh[TRACER_MAX_FRAMES + 1];
  u8 window[WINDOW_BYTES]; /* a copied part of a stack that cannot be read directly */
};
#define THREAD_BYTES (64 << 10)

/* Stacks that were sent: the number in the low 24 bits, 40 bits of the hash above. A set is one cache line.
 * Only as many sets are used as there are stacks for, so that the processor finds them in its caches. When
 * the sets in use are half full they become twice as many, and a stack is looked for where it stood before,
 * too. */
#define SEEN_FIRST_SETS_LOG2 8
#define SEEN_WAYS 8
#define SEEN_SETS_LOG2 15

/* Sampled blocks: a bit in the bitmap says that there may be one, the bucket says which. A bucket serves one
 * 32-bit word of the bitmap. A bit of the filter stands for 16 bits of the bitmap, and one of the sieve for
 * 16 of the filter: all frees of the program ask the sieve, whose 8 cache lines stay near where the 8 KiB of
 * the filter come and go, and nearly none the bitmap (a loaded node: 15 ns a free for that one miss). */
#define BUCKETS_LOG2 (BITMAP_LOG2 - 5)
#define BUCKET_WAYS 8

#define RULES_LOG2 14

struct state {
  struct tracer_state_head head;
  u32 mode;         /* as the free path sees it */
  u32 switched_off; /* no heartbeat came: everything passes through. shared->switched_off says for how long */
  u64 first_bias; /* to be added to what the clock reads << 8 in the first word of an event: - tsc_base << 8, or 1 << 8,
                       as the sequence reads what it was before */
  u64 tid_offset; /* a copy */
  u64 sequence;   /* address of tracer_shared::sequence; 0: the counter is the clock */
  u64 last_eviction;
  u64 pid;
  u32 seen_growth; /* log2 of sets in use - SEEN_FIRST_SETS_LOG2 */
  u32 seen_count;  /* stacks entered since it grew */
  u32 rules_epoch; /* of the tables that the rules are of */
  u32 unused_word;
  u64 off_looked,
      off_for; /* ticks: when the tracer was found switched off last, and how long it has been so */
  u32 unused[STATE_SIEVE / 4 - 22];
  u32 sieve[1 << (SIEVE_LOG2 - 5)];
  u32 unused_too[(STATE_FILTER - STATE_SIEVE) / 4 - (1 << (SIEVE_LOG2 - 5))];
  u32 filter[1 << (FILTER_LOG2 - 5)];
  u32 bitmap[1 << (BITMAP_LOG2 - 5)];
  struct slot slots[TRACER_THREADS];
  u64 buckets[1 << BUCKETS_LOG2][BUCKET_WAYS];
  u64 seen[1 << SEEN_SETS_LOG2][SEEN_WAYS];
  u64 rules[1 << RULES_LOG2]; /* RULE_*: see rules.h */
  u8 threads[TRACER_THREADS][THREAD_BYTES];
};

/* A call of a hook on its way through the slow path, on the stack of the caller. Made by hooks.S. */
struct call {
  u64 after[9]; /* what the original left in the registers that a caller may look at (arch/tracer/hooks.S) */
  u64 argument_0, argument_1, argument_2, argument_3, argument_4, argument_5;
  u64 hook;   /* shape << HOOKS_LOG2 | index */
  u64 target; /* what to call */
  u64 slot;
  u64 ticks_before;
  u64 size;
  u64 sampled;            /* SAMPLED_* */
  u64 countdown;          /* of nests() */
  u64 fp, return_address; /* of the caller, whose frame ends behind this struct */
};
#define SAMPLED_NEW 1
#define SAMPLED_OLD 2

#ifndef __cplusplus
#define STATE_OFFSET(type, member, offset) \
  _Static_assert(__builtin_offsetof(type, member) == (offset), "hooks.S knows this offset")
STATE_OFFSET(struct tracer_config, state, CONFIG_STATE);
STATE_OFFSET(struct tracer_config, original, CONFIG_ORIGINAL);
STATE_OFFSET(struct state, mode, STATE_MODE);
STATE_OFFSET(struct state, sieve, STATE_SIEVE);
STATE_OFFSET(struct state, filter, STATE_FILTER);
STATE_OFFSET(struct state, bitmap, STATE_BITMAP);
STATE_OFFSET(struct state, slots, STATE_SLOTS);
STATE_OFFSET(struct state, first_bias, STATE_FIRST_BIAS);
STATE_OFFSET(struct state, tid_offset, STATE_TID_OFFSET);
STATE_OFFSET(struct state, sequence, STATE_SEQUENCE);
STATE_OFFSET(struct slot, countdown, SLOT_COUNTDOWN);
STATE_OFFSET(struct slot, tid, SLOT_TID);
STATE_OFFSET(struct slot, mode, SLOT_MODE);
STATE_OFFSET(struct slot, busy_sp, SLOT_BUSY);
STATE_OFFSET(struct slot, ring, SLOT_RING);
STATE_OFFSET(struct slot, head, SLOT_HEAD);
STATE_OFFSET(struct slot, limit, SLOT_LIMIT);
STATE_OFFSET(struct slot, bias, SLOT_BIAS);
STATE_OFFSET(struct tracer_config, allocator, CONFIG_ALLOCATOR);
STATE_OFFSET(struct tracer_ring, head, RING_HEAD);
STATE_OFFSET(struct call, slot, CALL_SLOT);
STATE_OFFSET(struct call, size, CALL_SIZE);
STATE_OFFSET(struct call, argument_0, CALL_ARGUMENTS);
STATE_OFFSET(struct call, hook, CALL_HOOK);
STATE_OFFSET(struct call, target, CALL_TARGET);
STATE_OFFSET(struct call, fp, CALL_FRAME);
_Static_assert(sizeof(struct state) == STATE_BYTES, "the header says so");
_Static_assert(sizeof(struct slot) == 1 << SLOT_SIZE_LOG2, "hooks.S shifts by it");
_Static_assert(BITMAP_LOG2 - FILTER_LOG2 == 4, "half a word of the bitmap has one bit in the filter");
_Static_assert(FILTER_LOG2 - SIEVE_LOG2 == 4, "half a word of the filter has one bit in the sieve");
_Static_assert(TRACER_THREADS == 1 << SLOTS_LOG2, "hooks.S shifts by it");
_Static_assert(TRACER_HOOKS == 1 << HOOKS_LOG2, "hooks.S shifts by it");
_Static_assert(sizeof(struct thread) <= THREAD_BYTES, "a thread has room for its memory");
_Static_assert(CALL_FRAME % 16 == 0, "the stack is aligned where C is called");
#endif
#endif
#endif
