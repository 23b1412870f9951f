/* The threads of the target. A thread is known by the address of its control block, which needs no system
 * call and no thread-local storage of our own; the control block also tells the thread's id, where we know
 * its place, and with it that a new thread runs on the control block of one that is gone. */
#ifndef FATHOM_TRACER_THREADS_H
#define FATHOM_TRACER_THREADS_H

#include "attach/tracer/machine.h"
#include "attach/tracer/sampling.h"
#include "attach/tracer/state.h"

/* How far a slot may lie from where it belongs. The fast paths look only there; a thread whose slot is
 * elsewhere takes the slow path every time. */
#define SLOT_PROBES 64
#define COUNTDOWN_IDLE (1ull << 20) /* the mode is looked at again after so many bytes */
#define COUNTDOWN_NEVER (1ull << 62)
#define EVICTION_TICKS (1ull << 29) /* some 0.2 s */

INLINE u32 slot_home(u64 key) {
  return (u32)key * HASH_FACTOR_32 >> (32 - SLOTS_LOG2);
}

INLINE struct thread* thread_of(struct state* s, const struct slot* slot) {
  return (struct thread*)s->threads[slot - s->slots];
}

/* What a thread allocates until it looks whether there is anything to do again, in mode OFF. A pause of exact
 * recording ends with the first call after it, as every call counts from then on. */
INLINE u64 idle_countdown(const struct state* s, const struct tracer_shared* shared) {
  if (!load_relaxed(&s->switched_off)) return COUNTDOWN_IDLE;
  if (load_relaxed(&shared->switched_off) == TRACER_GONE) return COUNTDOWN_NEVER;
  return load_relaxed(&shared->mode) == TRACER_EXACT ? 0 : COUNTDOWN_IDLE;
}

/* What the thread allocates until it is looked at again, in this mode. */
HELPER void prepare_countdown(struct state* s, struct slot* slot, const struct tracer_shared* shared,
                              u32 mode) {
  struct thread* t = thread_of(s, slot);
  slot->mode = mode;
  t->mean = load_relaxed(&shared->mean);
  if (mode == TRACER_EXACT)
    slot->countdown = 0;
  else if (mode == TRACER_SAMPLED)
    slot->countdown = (u64)draw_countdown(&t->random, t->mean);
  else
    slot->countdown = idle_countdown(s, shared);
}

static u64 own_pid(struct state* s) {
  u64 pid = load_relaxed(&s->pid);
  if (!pid) {
    pid = (u64)system_call(CALL_GETPID, 0, 0, 0, 0, 0, 0);
    store_relaxed(&s->pid, pid);
  }
  return pid;
}

/* Has the slot's thread ended, for sure? */
static int is_gone(struct state* s, const struct tracer_shared* shared, const struct slot* slot) {
  u32 tid = load_relaxed(&slot->tid);
  const struct tracer_ring* ring = (const struct tracer_ring*)load_relaxed(&slot->ring);
  if (!tid || (tid & TRACER_MADE_UP)) return 0;
  if (ring && load_relaxed(&ring->owner) == 0) return 1; /* the profiler says so */
  return shared->may_call_kernel && system_call(CALL_TGKILL, own_pid(s), tid, 0, 0, 0, 0) == ERROR_NO_PROCESS;
}

/* A slot for a control block that has none: where it belongs if that is free or the thread there is gone,
 * else the next free one, else one of a thread that is gone. */
static NO_INLINE struct slot* make_slot(struct state* s, const struct tracer_shared* shared, u64 key) {
  u32 home = slot_home(key);
  struct slot* slot = &s->slots[home];
  u64 old = load_relaxed(&slot->key), now;
  if (old && is_gone(s, shared, slot) && compare_exchange_u64(&slot->key, old, key)) return slot;
  for (u32 i = 0; i < SLOT_PROBES; i++) {
    slot = &s->slots[(home + i) & (TRACER_THREADS - 1)];
    if (load_relaxed(&slot->key) == key) return slot; /* made by a signal handler meanwhile */
    if (load_relaxed(&slot->key) == 0 && compare_exchange_u64(&slot->key, 0, key)) return slot;
  }
  now = read_clock();
  if (now - load_relaxed(&s->last_eviction) < EVICTION_TICKS) return 0;
  for (u32 i = 0; i < SLOT_PROBES; i++) {
    slot = &s->slots[(home + i) & (TRACER_THREADS - 1)];
    old = load_relaxed(&slot->key);
    if (is_gone(s, shared, slot) && compare_exchange_u64(&slot->key, old, key)) return slot;
  }
  store_relaxed(&s->last_eviction, now);
  return 0;
}

INLINE struct slot* find_slot(struct state* s, const struct tracer_shared* shared, u64 key) {
  u32 home = slot_home(key);
  for (u32 i = 0; i < SLOT_PROBES; i++) {
    struct slot* slot = &s->slots[(home + i) & (TRACER_THREADS - 1)];
    u64 found = load_relaxed(&slot->key);
    if (LIKELY(found == key)) return slot;
    if (found == 0) break;
  }
  return make_slot(s, shared, key);
}

/* The id of this thread, as the ring's owner is called. */
INLINE u32 current_tid(const struct tracer_shared* shared, const struct slot* slot, u64 key) {
  if (LIKELY(shared->tid_offset)) {
    u32 tid = load_relaxed((const u32*)(key + shared->tid_offset));
    if (LIKELY(tid)) return tid;
  }
  if (slot->tid) return slot->tid;
  if (shared->may_call_kernel) return (u32)system_call(CALL_GETTID, 0, 0, 0, 0, 0, 0);
  return TRACER_MADE_UP | (u32)(key * HASH_FACTOR >> 34);
}

/* Another thread, or the first one, runs on this control block. It gets its own ring: see take_ring. */
static NO_INLINE void begin_thread(struct state* s, const struct tracer_shared* shared, struct slot* slot,
                                   u32 tid) {
  struct thread* t = thread_of(s, slot);
  const u64 in_sequence = load_relaxed(&shared->clock) == TRACER_CLOCK_SEQUENCE;
  store_relaxed(&s->first_bias, in_sequence ? 1 << 8 : 0 - (shared->tsc_base << 8));
  store_relaxed(&s->sequence, in_sequence ? (u64)&shared->sequence : 0);
  store_relaxed(&s->tid_offset, shared->tid_offset);
  slot->tid = tid;
  slot->limit = 0;
  t->credit_end = 0;
  t->random = (read_clock() ^ slot->key * HASH_FACTOR) | 1;
  slot->mode = TRACER_OFF;
  t->stack_low = t->stack_high = 0;
  t->table_epoch = load_relaxed(&shared->table_epoch) - 1; /* not that of the first walk */
  t->impatient = 0;
  t->announced = 0;
  t->retry_ring = 0;
}

#endif
