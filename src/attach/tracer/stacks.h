/* Numbers for stacks: each is sent once and named by its number from then on. */
#ifndef FATHOM_TRACER_STACKS_H
#define FATHOM_TRACER_STACKS_H

#include "attach/tracer/machine.h"
#include "attach/tracer/ring.h"
#include "attach/tracer/state.h"
#include "attach/tracer/walk.h"

#define STACK_NUMBERS (1u << 24)

/* Sends the stack that the thread walked last, under a new number. 0: it could not be sent. */
static NO_INLINE u32 send_stack(struct state* s, struct tracer_shared* shared, struct slot* slot,
                                int may_wait) {
  const struct thread* t = thread_of(s, slot);
  struct record record;
  u32 count = t->walked_count;
  u64 number;
  if (load_relaxed(&shared->next_stack) >= STACK_NUMBERS - 1) return 0;
  if (!begin_record(&record, s, shared, slot, (u32)sizeof(struct tracer_event_stack) + count * 8, may_wait))
    return 0;
  number = add_relaxed(&shared->next_stack, 1) + 1;
  if (number >= STACK_NUMBERS) return 0;
  put(&record, TRACER_FIRST(now_stamp(s, shared), TRACER_EVENT_STACK));
  put(&record, number | (u64)count << 32 | (u64)t->end << 48);
  for (u32 i = count; i > 0; i--) put(&record, t->frames[i - 1].pc);
  end_record(&record);
  return (u32)number;
}

/* The number that a set gives the hash. 0: it does not know it. */
INLINE u32 number_in(const u64* set, u64 hash, u32 first) {
  u64 tag = hash << 24; /* the low 40 bits: those above choose the set */
  for (u32 i = 0; i < SEEN_WAYS; i++) {
    u64 entry = load_relaxed(&set[(first + i) % SEEN_WAYS]);
    if (LIKELY((entry ^ tag) < STACK_NUMBERS && entry)) return (u32)entry & (STACK_NUMBERS - 1);
  }
  return 0;
}

INLINE u64* set_of(struct state* s, u64 hash, u32 growth) {
  return s->seen[hash >> (64 - SEEN_FIRST_SETS_LOG2 - growth)];
}

/* Where in its set a hash is looked for first. */
INLINE u32 first_way(u64 hash) {
  return (u32)(hash >> (64 - SEEN_SETS_LOG2 - 3)) % SEEN_WAYS;
}

/* A stack that its set does not know: from the time when the sets were fewer, or sent now. */
static NO_INLINE u32 enter_stack(struct state* s, struct tracer_shared* shared, struct slot* slot,
                                 int may_wait, u64 hash) {
  u32 growth = load_relaxed(&s->seen_growth), first = first_way(hash), number = 0, way;
  u64* set = set_of(s, hash, growth);
  for (u32 before = growth; before > 0 && !number; before--)
    number = number_in(set_of(s, hash, before - 1), hash, first);
  if (!number) number = send_stack(s, shared, slot, may_wait);
  if (!number) return 0;
  for (way = 0; way < SEEN_WAYS && load_relaxed(&set[(first + way) % SEEN_WAYS]); way++) continue;
  if (way == SEEN_WAYS) way = thread_of(s, slot)->walks++;
  store_relaxed(&set[(first + way) % SEEN_WAYS], hash << 24 | number);
  if (add_relaxed(&s->seen_count, 1) >= (SEEN_WAYS / 2u) << (SEEN_FIRST_SETS_LOG2 + growth) &&
      growth < SEEN_SETS_LOG2 - SEEN_FIRST_SETS_LOG2) {
    store_relaxed(&s->seen_count, 0);
    store_relaxed(&s->seen_growth, growth + 1);
  }
  return number;
}

/* The number of the stack that the thread walked last. 0: it has none. */
INLINE u32 stack_number(struct state* s, struct tracer_shared* shared, struct slot* slot, int may_wait) {
  struct thread* t = thread_of(s, slot);
  /* The same addresses are another stack once other code lies there: a plugin in the place of one that was unloaded. */
  u64 hash = t->hashes[t->walked_count - 1] ^
             (u64)(t->table_epoch >> TRACER_EPOCH_CODE_SHIFT) * 0x9e3779b97f4a7c15ull;
  u32 number = number_in(set_of(s, hash, load_relaxed(&s->seen_growth)), hash, first_way(hash));
  if (UNLIKELY(!number)) number = enter_stack(s, shared, slot, may_wait, hash);
  t->number = number; /* for the next walk that finds this stack */
  return number;
}

#endif
