/* Writing to the thread's ring. Sampled mode never waits; exact mode waits for the profiler up to a limit,
 * then loses the record and does not wait again until the ring was seen half empty. */
#ifndef FATHOM_TRACER_RING_H
#define FATHOM_TRACER_RING_H

#include "tracer/machine.h"
#include "tracer/state.h"
#include "tracer/threads.h"

#define RING_RETRY_EVENTS 256
#define HEARTBEAT_EVENTS 256
#define PAUSES_BEFORE_SLEEP 256
#define SLEEP_NS 50000

/* The profiler is gone: nothing is recorded any more. */
static NO_INLINE void switch_off(struct state* s, struct tracer_shared* shared) {
  store_relaxed(&s->switched_off, 1);
  store_relaxed(&s->mode, TRACER_OFF);
  store_relaxed(&shared->switched_off, 1);
}

/* `now` in ticks since tsc_base. The heartbeat may have been written a moment later by another CPU. */
INLINE int heart_beats(const struct tracer_shared* shared, u64 now) {
  s64 age = (s64)(now - load_relaxed(&shared->heartbeat));
  return shared->heartbeat_limit == 0 || age < 0 || (u64)age <= shared->heartbeat_limit;
}

INLINE u64 now_ticks(const struct tracer_shared* shared) {
  return read_clock() - shared->tsc_base;
}

static struct tracer_ring* ring_at(struct tracer_shared* shared, u32 index) {
  return (struct tracer_ring*)((u64)shared + shared->rings_offset + (u64)index * shared->ring_stride);
}

/* A ring for the thread: the one of its control block if its former owner is this thread or gone, else a free
 * one. */
static NO_INLINE struct tracer_ring* take_ring(struct state* s, struct tracer_shared* shared,
                                               struct slot* slot, u32 old_tid) {
  struct thread* t = thread_of(s, slot);
  struct tracer_ring* ring = (struct tracer_ring*)slot->ring;
  u32 tid = slot->tid, count = shared->ring_count;
  if (ring && old_tid && compare_exchange_u32(&ring->owner, old_tid, tid)) goto taken;
  slot->ring = 0;
  if (t->retry_ring) {
    t->retry_ring--;
    return 0;
  }
  for (u32 i = 0; i < count; i++) {
    ring = ring_at(shared, (u32)(((u64)slot_home(slot->key) + i) % count));
    if (load_relaxed(&ring->owner) == 0 && compare_exchange_u32(&ring->owner, 0, tid)) goto taken;
  }
  t->retry_ring = RING_RETRY_EVENTS;
  return 0;
taken:
  slot->ring = (u64)ring;
  t->announced = 0;
  t->impatient = 0;
  t->head = load_acquire(&ring->head);
  t->tail_seen = load_acquire(&ring->tail);
  return ring;
}

/* Waits for `bytes` of room. 0: there is none in time. */
static NO_INLINE int wait_for_room(struct state* s, struct tracer_shared* shared, struct thread* t,
                                   struct tracer_ring* ring, u32 bytes, int may_wait) {
  u32 size = shared->ring_bytes;
  u64 start, waited = 0;
  t->tail_seen = load_acquire(&ring->tail);
  if (t->impatient && t->head - t->tail_seen <= size / 2) t->impatient = 0;
  if (size - (t->head - t->tail_seen) >= bytes) return 1;
  if (!may_wait || t->impatient || !shared->wait_limit) return 0;
  start = now_ticks(shared);
  for (u32 round = 0; waited < shared->wait_limit && load_relaxed(&shared->mode) != TRACER_OFF; round++) {
    if (round < PAUSES_BEFORE_SLEEP || !shared->may_call_kernel) {
      for (int i = 0; i < 16; i++) pause();
    } else {
      u64 duration[2] = {0, SLEEP_NS};
      system_call(CALL_NANOSLEEP, (u64)duration, 0, 0, 0, 0, 0);
    }
    t->tail_seen = load_acquire(&ring->tail);
    waited = now_ticks(shared) - start;
    if (size - (t->head - t->tail_seen) >= bytes) {
      store_relaxed(&ring->waited, ring->waited + waited);
      return 1;
    }
    if (!heart_beats(shared, start + waited)) {
      switch_off(s, shared);
      break;
    }
  }
  store_relaxed(&ring->waited, ring->waited + waited);
  t->impatient = 1;
  return 0;
}

/* A record in the making: words are put one after the other, and published as a whole. */
struct record {
  struct tracer_ring* ring;
  struct thread* thread;
  u64 data, mask, at;
};

INLINE int begin_record(struct record* r, struct state* s, struct tracer_shared* shared, struct thread* t,
                        struct tracer_ring* ring, u32 bytes, int may_wait) {
  u64 mask = (u64)shared->ring_bytes - 1;
  if (UNLIKELY(mask + 1 - (t->head - t->tail_seen) < bytes) &&
      !wait_for_room(s, shared, t, ring, bytes, may_wait)) {
    store_relaxed(&ring->lost, ring->lost + 1);
    return 0;
  }
  r->ring = ring;
  r->thread = t;
  r->data = (u64)ring + TRACER_RING_DATA;
  r->mask = mask;
  r->at = t->head;
  return 1;
}

INLINE void put(struct record* r, u64 word) {
  *(u64*)(r->data + (r->at & r->mask)) = word;
  r->at += 8;
}

INLINE void end_record(struct record* r) {
  r->thread->head = r->at;
  store_release(&r->ring->head, r->at);
}

#endif
