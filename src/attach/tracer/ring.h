/* Writing to the thread's ring. Sampled mode never waits; exact mode waits for the profiler up to a limit,
 * then loses the record and does not wait again until the ring was seen half empty. */
#ifndef FATHOM_TRACER_RING_H
#define FATHOM_TRACER_RING_H

#include "attach/tracer/machine.h"
#include "attach/tracer/state.h"
#include "attach/tracer/threads.h"

#define RING_RETRY_EVENTS 256
#define HEARTBEAT_BYTES 4096 /* of events, at most 256 */
#define PAUSES_BEFORE_SLEEP 256
/* Cache lines of the ring are fetched so many bytes before they are written: the profiler had them last. */
#define PREFETCH_BYTES 1024

/* For limits of waiting. Where the sequence is the clock, ticks of one CPU may be far from those of another one, and
 * their rate may change: only short differences mean something then. */
INLINE u64 now_ticks(const struct tracer_shared* shared) {
  return read_clock() - shared->tsc_base;
}

/* The same before state::first_bias is added. */
INLINE u64 raw_stamp(struct state* s) {
  u64* sequence = (u64*)load_relaxed(&s->sequence);
  return LIKELY(!sequence) ? read_clock() : add_relaxed(sequence, 1);
}

/* What orders an event. */
INLINE u64 now_stamp(const struct state* s, const struct tracer_shared* shared) {
  u64* sequence = (u64*)load_relaxed(&s->sequence);
  return LIKELY(!sequence) ? now_ticks(shared) : add_relaxed(sequence, 1) + 1;
}

/* Another CPU's counter may stand anywhere. So a heartbeat is as old as the time since this thread saw it first, and
 * a counter that went back begins that time again. */
static NO_INLINE int has_new_heartbeat(const struct tracer_shared* shared, struct thread* t, u64 now) {
  u64 heartbeat = load_relaxed(&shared->heartbeat);
  if (heartbeat != t->heard || now < t->heard_at) {
    t->heard = heartbeat;
    t->heard_at = now;
  }
  return now - t->heard_at <= shared->heartbeat_limit;
}

/* `now` in ticks since tsc_base. The heartbeat may have been written a moment later by another CPU. */
INLINE int heart_beats(const struct state* s, const struct tracer_shared* shared, struct thread* t, u64 now) {
  s64 age = (s64)(now - load_relaxed(&shared->heartbeat));
  if (shared->heartbeat_limit == 0) return 1;
  if (UNLIKELY(load_relaxed(&s->sequence))) return has_new_heartbeat(shared, t, now);
  return age < 0 || (u64)age <= shared->heartbeat_limit;
}

/* The profiler does not answer: nothing is recorded until it does. The shared word comes first: a thread that
 * finds the other one set and this one clear starts over. */
static NO_INLINE void switch_off(struct state* s, struct tracer_shared* shared) {
  if (load_relaxed(&s->switched_off)) return;
  store_relaxed(&shared->off_ticks, now_stamp(s, shared));
  store_relaxed(&s->off_looked, now_ticks(shared));
  store_relaxed(&s->off_for, 0);
  store_release(&shared->switched_off, TRACER_PAUSED);
  store_release(&s->switched_off, 1);
  store_relaxed(&s->mode, TRACER_OFF);
}

/* Where counters cannot be compared the time is added up, and no two looks are further apart than a sixteenth of the
 * limit: what a change of the CPU adds is small, and the silence at most longer than it is thought to be. */
static int is_silent_for_good(struct state* s, const struct tracer_shared* shared) {
  const u64 now = now_ticks(shared), heartbeat = load_relaxed(&shared->heartbeat),
            limit = shared->heartbeat_limit;
  u64 step, looked;
  if (!load_relaxed(&s->sequence))
    return (now - heartbeat) / TRACER_GONE_FACTOR >= limit && (s64)(now - heartbeat) > 0;
  looked = load_relaxed(&s->off_looked);
  store_relaxed(&s->off_looked, now);
  step = now > looked ? now - looked : 0;
  if (step > limit / 16) step = limit / 16;
  return (add_relaxed(&s->off_for, step) + step) / TRACER_GONE_FACTOR >= limit;
}

/* Is the tracer still switched off? If the profiler has been heard from it is not: one thread says when that
 * was. Frees pass through until the first allocation asks here, so that only what was allocated from then on
 * is known to be freed or not. */
static NO_INLINE int is_switched_off(struct state* s, struct tracer_shared* shared) {
  const u64 silence = load_acquire(&shared->switched_off);
  if (silence == TRACER_PAUSED && is_silent_for_good(s, shared))
    (void)compare_exchange_u64(&shared->switched_off, TRACER_PAUSED, TRACER_GONE);
  if (silence != TRACER_HEARD) return 1;
  if (compare_exchange_u32(&s->switched_off, 1, 0))
    store_release(&shared->resumed_ticks, now_stamp(s, shared));
  return 0;
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
  slot->limit = 0;
  t->credit_end = 0;
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
  add_relaxed(&shared->rings_taken, 1); /* a reader that sees it grown also sees the owner */
  slot->ring = (u64)ring;
  slot->limit = 0;
  t->credit_end = 0;
  t->announced = 0;
  t->impatient = 0;
  slot->head = load_acquire(&ring->head);
  t->room_end = load_acquire(&ring->tail) + shared->ring_bytes;
  return ring;
}

INLINE int has_room(const struct slot* slot, const struct thread* t, u32 bytes) {
  return slot->head + bytes <= t->room_end;
}

/* What the fast paths may write at once from here on. */
INLINE void set_limit(const struct tracer_shared* shared, struct slot* slot, const struct thread* t) {
  const u64 lap = slot->head & ~((u64)shared->ring_bytes - 1);
  u64 limit = lap + shared->ring_bytes;
  if (limit > t->room_end) limit = t->room_end;
  if (limit > t->credit_end) limit = t->credit_end;
  slot->bias = slot->ring + TRACER_RING_DATA - lap;
  slot->limit = limit;
}

/* Looks at the profiler's side of the ring. 1: there is room now. */
INLINE int look_for_room(const struct slot* slot, struct thread* t, const struct tracer_shared* shared,
                         const struct tracer_ring* ring, u32 bytes) {
  t->room_end = load_acquire(&ring->tail) + shared->ring_bytes;
  return has_room(slot, t, bytes);
}

/* What one round of waiting lasted. A counter that cannot be trusted may stand still while the CPU sleeps, or belong to
 * another CPU than before. */
INLINE u64 length_of_round(const struct state* s, const struct tracer_shared* shared, u64 before, u64 now,
                           int slept) {
  u64 ticks = now - before, least = slept ? shared->sleep_ticks : 1, most = 200ull * shared->sleep_ticks;
  if (LIKELY(!load_relaxed(&s->sequence))) return ticks;
  return ticks < least || ticks > most ? least : ticks;
}

/* A thread that has waited so long: may it wait on? */
static int may_wait_on(const struct tracer_shared* shared, u64 waited) {
  const u64 in_all = shared->wait_total_limit;
  return waited < shared->wait_limit && (!in_all || load_relaxed(&shared->waited_total) < in_all) &&
         load_relaxed(&shared->mode) != TRACER_OFF;
}

/* Waits for `bytes` of room. 0: there is none in time. */
static NO_INLINE int wait_for_room(struct state* s, struct tracer_shared* shared, struct slot* slot,
                                   u32 bytes, int may_wait) {
  struct tracer_ring* ring = (struct tracer_ring*)slot->ring;
  struct thread* t = thread_of(s, slot);
  u64 before, waited = 0;
  int room = look_for_room(slot, t, shared, ring, bytes);
  if (t->impatient && has_room(slot, t, shared->ring_bytes / 2)) t->impatient = 0;
  if (room) return 1;
  if (!may_wait || t->impatient || !shared->wait_limit) {
    /* A ring that stays full is never looked at otherwise. */
    if (!heart_beats(s, shared, t, now_ticks(shared))) switch_off(s, shared);
    return 0;
  }
  before = now_ticks(shared);
  for (u32 round = 0; may_wait_on(shared, waited); round++) {
    const int sleeps = round >= PAUSES_BEFORE_SLEEP && shared->may_call_kernel;
    u64 now, length;
    if (!sleeps) {
      for (int i = 0; i < 16; i++) relax();
    } else {
      u64 duration[2] = {0, TRACER_SLEEP_NS};
      system_call(CALL_NANOSLEEP, (u64)duration, 0, 0, 0, 0, 0);
    }
    room = look_for_room(slot, t, shared, ring, bytes);
    now = now_ticks(shared);
    length = length_of_round(s, shared, before, now, sleeps);
    before = now;
    waited += length;
    add_relaxed(&shared->waited_total, length);
    if (room) break;
    if (!heart_beats(s, shared, t, now)) {
      switch_off(s, shared);
      break;
    }
  }
  store_relaxed(&ring->waited, ring->waited + waited);
  t->impatient = !room;
  return room;
}

/* A record in the making: words are put one after the other, and published as a whole. */
struct record {
  const struct tracer_shared* shared;
  struct slot* slot;
  const struct thread* thread;
  u64 data, mask, at;
};

/* 0: there is no room, and the record is counted as lost. */
INLINE int begin_record(struct record* r, struct state* s, struct tracer_shared* shared, struct slot* slot,
                        u32 bytes, int may_wait) {
  const struct thread* t = thread_of(s, slot);
  if (UNLIKELY(!has_room(slot, t, bytes)) && !wait_for_room(s, shared, slot, bytes, may_wait)) {
    struct tracer_ring* ring = (struct tracer_ring*)slot->ring;
    store_relaxed(&ring->lost, ring->lost + 1);
    return 0;
  }
  r->shared = shared;
  r->slot = slot;
  r->thread = t;
  r->data = slot->ring + TRACER_RING_DATA;
  r->mask = (u64)shared->ring_bytes - 1;
  r->at = slot->head;
  return 1;
}

INLINE void put(struct record* r, u64 word) {
  *(u64*)(r->data + (r->at & r->mask)) = word;
  r->at += 8;
}

INLINE void end_record(struct record* r) {
  r->slot->head = r->at;
  store_release(&((struct tracer_ring*)r->slot->ring)->head, r->at);
  set_limit(r->shared, r->slot, r->thread);
}

#endif
