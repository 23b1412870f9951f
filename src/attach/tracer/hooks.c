/* The slow paths of the hooks: which calls are recorded, and what is written of them. hooks.S calls
 * tracer_before and tracer_after around the original function, tracer_free before one that frees.
 * Freestanding: no libc, no thread-local storage, no relocation, and nothing here can fail loudly; what
 * cannot be recorded is counted, and the program runs on. */
#include "attach/tracer/machine.h"
#include "attach/tracer/ring.h"
#include "attach/tracer/sampling.h"
#include "attach/tracer/stacks.h"
#include "attach/tracer/state.h"
#include "attach/tracer/threads.h"
#include "attach/tracer/walk.h"

#define HIDDEN __attribute__((visibility("hidden")))
extern const volatile struct tracer_config tracer_config;
extern const u8 tracer_image_start[], tracer_image_end[];

/* Who calls, and with which orders. */
struct here {
  struct state* state;
  struct tracer_shared* shared;
  struct slot* slot;
  u32 mode;
};

INLINE u64 saturated_product(u64 a, u64 b) {
  u64 product;
  return __builtin_mul_overflow(a, b, &product) ? ~0ull : product;
}

INLINE u64 asked_size(const struct call* call, u32 shape) {
  switch (shape) {
    case TRACER_CALLOC:
      return saturated_product(call->argument_0, call->argument_1);
    case TRACER_ALIGNED:
    case TRACER_REALLOC:
    case TRACER_XALLOCX:
    case TRACER_NEW_IN:
      return call->argument_1;
    case TRACER_POSIX:
    case TRACER_REALLOC_IN:
      return call->argument_2;
    case TRACER_REALLOCARRAY:
    case TRACER_CALLOC_IN:
    case TRACER_NEW_ARRAY_IN:
      return saturated_product(call->argument_1, call->argument_2);
    case TRACER_REALLOCARRAY_IN:
      return saturated_product(call->argument_2, call->argument_3);
    case TRACER_NEW_ARRAY:
      return saturated_product(call->argument_0, call->argument_1);
    default:
      return call->argument_0;
  }
}

INLINE int is_realloc(u32 shape) {
  return shape == TRACER_REALLOC || shape == TRACER_REALLOCARRAY || shape == TRACER_REALLOC_IN ||
         shape == TRACER_REALLOCARRAY_IN;
}

/* Shapes of functions that are known to allocate by others that are hooked as well: in sampled mode these
 * bytes are theirs, and not counted once more. */
INLINE int nests(u32 shape) {
  return shape == TRACER_REALLOC_IN || shape == TRACER_REALLOCARRAY_IN;
}

/* What a realloc is given. */
INLINE u64 old_block(const struct call* call) {
  u64 in_heap = call->hook >= TRACER_REALLOC_IN << HOOKS_LOG2; /* only reallocs are asked */
  return in_heap ? call->argument_1 : call->argument_0;
}

INLINE u32 shape_of(const struct call* call) {
  return (u32)(call->hook >> HOOKS_LOG2);
}

INLINE u64 allocator_of(const struct call* call) {
  return ((const volatile u8*)tracer_config.allocator)[call->hook];
}

INLINE u64 stack_pointer_of(const struct call* call) {
  return (u64)(call + 1);
}

/* A call inside of one that is being recorded passes through. Not so if the thread has left that one for
 * good, with a longjmp out of a signal handler: then its frame lies below the stack, or the return address
 * into the image, with which the frame of a recorded call always ends, has been written over. What lies on
 * different stacks is not compared. */
static NO_INLINE int is_nested(struct state* s, struct tracer_shared* shared, const struct slot* slot,
                               u64 sp) {
  const struct thread* t = thread_of(s, slot);
  u64 busy_sp = slot->busy_sp, end = busy_sp - sizeof(struct call) - 8;
  if (end >= t->stack_low && busy_sp < t->stack_high && sp >= t->stack_low && sp < t->stack_high) {
    if (sp > busy_sp) return 0;
    if (!(busy_sp & 1) &&
        *(const volatile u64*)end - (u64)tracer_image_start >= (u64)(tracer_image_end - tracer_image_start))
      return 0;
  }
  add_relaxed(&shared->nested, 1);
  return 1;
}

/* The orders that hold now, also for the free path. */
INLINE u32 current_mode(struct state* s, struct tracer_shared* shared) {
  u32 mode = load_relaxed(&shared->mode);
  if (UNLIKELY(load_relaxed(&s->switched_off)) && is_switched_off(s, shared)) mode = TRACER_OFF;
  if (UNLIKELY(load_relaxed(&s->mode) != mode)) store_relaxed(&s->mode, mode);
  return mode;
}

/* Nothing is recorded: no slot is made, so that those who have none look at the mode again at their next
 * call. */
static NO_INLINE void be_idle(struct state* s, const struct tracer_shared* shared, u64 key) {
  struct slot* slot = &s->slots[slot_home(key)];
  if (load_relaxed(&slot->key) != key || slot->busy_sp) return;
  slot->mode = TRACER_OFF;
  slot->countdown = idle_countdown(s, shared);
}

/* The first call of a thread. */
static NO_INLINE void meet_thread(const struct here* here, u32 tid, u64 sp) {
  struct slot* slot = here->slot;
  u32 old_tid = slot->tid;
  begin_thread(here->state, here->shared, slot, tid);
  find_own_stack(here->state, here->shared, slot, sp);
  take_ring(here->state, here->shared, slot, old_tid);
}

/* Who are we, and is this call to be looked at? 0: pass through. */
INLINE int enter(struct here* here, u64 sp) {
  struct state* s = (struct state*)tracer_config.state;
  struct tracer_shared* shared = (struct tracer_shared*)load_relaxed(&s->head.shared);
  struct slot* slot;
  u64 key;
  u32 mode, tid;
  if (UNLIKELY(!shared)) return 0; /* a forked child */
  mode = current_mode(s, shared);
  key = thread_control_block();
  if (UNLIKELY(!key)) return 0;
  if (UNLIKELY(mode == TRACER_OFF)) {
    be_idle(s, shared, key);
    return 0;
  }
  slot = find_slot(s, shared, key);
  if (UNLIKELY(!slot)) {
    add_relaxed(&shared->lost_no_slot, 1);
    return 0;
  }
  here->state = s;
  here->shared = shared;
  here->slot = slot;
  here->mode = mode;
  tid = current_tid(shared, slot, key);
  if (UNLIKELY(slot->busy_sp) && tid == slot->tid && is_nested(s, shared, slot, sp)) return 0;
  slot->busy_sp = sp;
  signal_fence();
  if (UNLIKELY(tid != slot->tid)) meet_thread(here, tid, sp);
  if (UNLIKELY(slot->mode != mode)) prepare_countdown(s, slot, shared, mode);
  return 1;
}

INLINE void leave(struct slot* slot) {
  signal_fence();
  slot->busy_sp = 0;
}

INLINE int begin_event(struct record* record, const struct here* here, u32 bytes) {
  return begin_record(record, here->state, here->shared, here->slot, bytes, here->mode == TRACER_EXACT);
}

/* Sees to it that the thread has a ring that knows whose it is, and looks whether the profiler is alive. 0:
 * there is no ring, and the event is counted as lost. */
static NO_INLINE int renew_credit(const struct here* here) {
  struct slot* slot = here->slot;
  struct thread* t = thread_of(here->state, slot);
  struct record record;
  if (!slot->ring || load_relaxed(&((struct tracer_ring*)slot->ring)->owner) != slot->tid) {
    if (!take_ring(here->state, here->shared, slot, 0)) {
      add_relaxed(&here->shared->lost_no_ring, 1);
      return 0;
    }
  }
  if (!heart_beats(here->state, here->shared, t, now_ticks(here->shared))) {
    switch_off(here->state, here->shared);
    return 0;
  }
  if (!t->announced) {
    if (!begin_event(&record, here, sizeof(struct tracer_event_thread))) return 0;
    put(&record, TRACER_FIRST(now_stamp(here->state, here->shared), TRACER_EVENT_THREAD));
    put(&record, slot->tid);
    end_record(&record);
    t->announced = 1;
  }
  t->credit_end = slot->head + HEARTBEAT_BYTES;
  set_limit(here->shared, slot, t);
  return 1;
}

INLINE int ready_to_send(const struct here* here) {
  return LIKELY(here->slot->head < thread_of(here->state, here->slot)->credit_end) || renew_credit(here);
}

INLINE u32 walk_and_number(const struct here* here, const struct call* call) {
  struct thread* t = thread_of(here->state, here->slot);
  u64 sp = stack_pointer_of(call), highest = begin_walk(here->state, here->shared, here->slot, t, sp);
  if (walk_stack(t, highest, call->return_address, sp, call->fp) && t->number) return t->number;
  return stack_number(here->state, here->shared, here->slot, here->mode == TRACER_EXACT);
}

static NO_INLINE void send_free(const struct here* here, u64 block, u64 ticks) {
  struct record record;
  if (!ready_to_send(here) || !begin_event(&record, here, sizeof(struct tracer_event_free))) return;
  put(&record, TRACER_FIRST(ticks, TRACER_EVENT_FREE));
  put(&record, block);
  end_record(&record);
}

static NO_INLINE void send_free_sized(const struct here* here, u64 block, u64 size, u64 ticks) {
  struct record record;
  if (!ready_to_send(here) || !begin_event(&record, here, sizeof(struct tracer_event_free_sized))) return;
  put(&record, TRACER_FIRST(ticks, TRACER_EVENT_FREE_SIZED));
  put(&record, block);
  put(&record, size);
  end_record(&record);
}

INLINE u32 saturated_size(u64 size) {
  return size < 0xffffffffu ? (u32)size : 0xffffffffu;
}

/* The last words of an alloc, resize or realloc. */
INLINE void put_size(struct record* record, u64 size, u32 stack) {
  u32 small = saturated_size(size);
  put(record, small | (u64)stack << 32);
  if (UNLIKELY(small == 0xffffffffu)) put(record, size);
}

/* An alloc or resize. */
static NO_INLINE void send_alloc(const struct here* here, const struct call* call, u32 kind, u64 block,
                                 u64 size) {
  struct record record;
  u32 stack, bytes = (u32)sizeof(struct tracer_event_alloc) + (saturated_size(size) == 0xffffffffu ? 8 : 0);
  if (!ready_to_send(here)) return;
  stack = walk_and_number(here, call);
  if (!begin_event(&record, here, bytes)) return;
  put(&record, TRACER_FIRST(now_stamp(here->state, here->shared), kind));
  put(&record, TRACER_BLOCK(block, allocator_of(call)));
  put_size(&record, size, stack);
  end_record(&record);
}

static NO_INLINE void send_realloc(const struct here* here, const struct call* call, u64 block) {
  struct record record;
  u64 allocator = allocator_of(call), size = call->size;
  u32 stack, bytes = (u32)sizeof(struct tracer_event_realloc) + (saturated_size(size) == 0xffffffffu ? 8 : 0);
  if (!ready_to_send(here)) return;
  stack = walk_and_number(here, call);
  if (!begin_event(&record, here, bytes)) return;
  put(&record, TRACER_FIRST(now_stamp(here->state, here->shared), TRACER_EVENT_REALLOC));
  put(&record, TRACER_BLOCK(old_block(call), allocator));
  put(&record, call->ticks_before);
  put(&record, block ? TRACER_BLOCK(block, allocator) : 0);
  put_size(&record, size, stack);
  end_record(&record);
}

/* The block enters the set before the program gets it, so that its free is seen; and the set before the
 * event, so that what is recorded can be freed. */
static NO_INLINE void send_sample(const struct here* here, const struct call* call, u64 block) {
  struct record record;
  u32 stack, mean = thread_of(here->state, here->slot)->mean;
  if (!ready_to_send(here)) return;
  if (!insert_block(here->state, block)) {
    add_relaxed(&here->shared->lost_set_full, 1);
    return;
  }
  stack = walk_and_number(here, call);
  if (!begin_event(&record, here, sizeof(struct tracer_event_sample))) {
    remove_block(here->state, block);
    return;
  }
  put(&record, TRACER_FIRST(now_stamp(here->state, here->shared), TRACER_EVENT_SAMPLE));
  put(&record, TRACER_BLOCK(block, allocator_of(call)));
  put(&record, call->size);
  put(&record, stack | (u64)mean << 32);
  end_record(&record);
}

/* Before the original: 1 if it is to be called and tracer_after then, 0 if it can be jumped to. */
HIDDEN int tracer_before(struct call* call) {
  u32 shape = shape_of(call);
  struct here here;
  if (!enter(&here, stack_pointer_of(call))) return 0;
  call->slot = (u64)here.slot;
  call->size = asked_size(call, shape);
  call->sampled = 0;
  if (here.mode == TRACER_SAMPLED) {
    s64 left;
    if (shape == TRACER_XALLOCX) goto pass;
    if ((s64)call->size < 0) goto pass; /* it will fail */
    left = (s64)here.slot->countdown - (s64)call->size;
    if (left < 0)
      call->sampled |= SAMPLED_NEW;
    else
      here.slot->countdown = (u64)left;
    if (is_realloc(shape) && old_block(call) && has_block(here.state, old_block(call)))
      call->sampled |= SAMPLED_OLD;
    call->countdown = here.slot->countdown;
    if (!call->sampled && !nests(shape)) goto pass;
  }
  if (tracer_throws(shape)) {
    call->target = tracer_config.partner[tracer_throwing_row(shape)][call->hook & (TRACER_HOOKS - 1)];
    if (!call->target) {
      add_relaxed(&here.shared->lost_throwing, 1);
      goto pass;
    }
  }
  if (is_realloc(shape)) call->ticks_before = now_stamp(here.state, here.shared);
  return 1;
pass:
  leave(here.slot);
  return 0;
}

INLINE u64 block_of(const struct call* call, u32 shape) {
  if (shape == TRACER_POSIX) return (u32)call->after[0] == 0 ? *(const volatile u64*)call->argument_0 : 0;
  return call->after[0];
}

INLINE void record_exactly(const struct here* here, const struct call* call, u32 shape, u64 block,
                           int failed) {
  if (shape == TRACER_XALLOCX) {
    u64 most =
        call->argument_1 + call->argument_2 < call->argument_1 ? ~0ull : call->argument_1 + call->argument_2;
    if (block >= call->argument_1)
      send_alloc(here, call, TRACER_EVENT_RESIZE, call->argument_0, block < most ? block : most);
  } else if (!failed && is_realloc(shape)) {
    send_realloc(here, call, block);
  } else if (!failed) {
    send_alloc(here, call, TRACER_EVENT_ALLOC, block, call->size);
  }
}

INLINE void record_sampled(const struct here* here, const struct call* call, u64 block, int failed) {
  /* An old block is removed only now that it is certainly freed. Its address may have been handed out and
   * sampled again by another thread meanwhile; then it is in the set twice, and one of the two is removed.
   */
  if (!failed && (call->sampled & SAMPLED_OLD) && remove_block(here->state, old_block(call)))
    send_free(here, TRACER_BLOCK(old_block(call), allocator_of(call)), call->ticks_before);
  if (call->sampled & SAMPLED_NEW) {
    if (block) send_sample(here, call, block);
    prepare_countdown(here->state, here->slot, here->shared, TRACER_SAMPLED);
  }
}

/* After the original, or the partner: 1 if the original is to be jumped to after all. */
HIDDEN int tracer_after(struct call* call) {
  u32 shape = shape_of(call);
  u64 block = call->after[0];
  struct here here;
  int failed;
  here.state = (struct state*)tracer_config.state;
  here.shared = (struct tracer_shared*)load_relaxed(&here.state->head.shared);
  if (UNLIKELY(!here.shared))
    return tracer_throws(shape) && !block; /* a signal handler forked, and we are the child */
  here.slot = (struct slot*)call->slot;
  here.mode = here.slot->mode;
  block = block_of(call, shape);
  failed = block == 0 && !(is_realloc(shape) && call->size == 0 && old_block(call));
  if (tracer_throws(shape) && failed) add_relaxed(&here.shared->lost_throwing, 1);
  if (here.mode == TRACER_EXACT)
    record_exactly(&here, call, shape, block, failed);
  else if (here.mode == TRACER_SAMPLED) {
    if (nests(shape)) here.slot->countdown = call->countdown;
    record_sampled(&here, call, block, failed);
  }
  leave(here.slot);
  return tracer_throws(shape) && failed;
}

/* An allocation in exact mode that tracer_after_exact leaves to others. */
static NO_INLINE void record_otherwise(const struct call* call, u64 block) {
  struct slot* slot = (struct slot*)call->slot;
  struct here here;
  u32 tid;
  here.state = (struct state*)tracer_config.state;
  here.shared = (struct tracer_shared*)load_relaxed(&here.state->head.shared);
  if (UNLIKELY(!here.shared)) return; /* a signal handler forked, and we are the child */
  here.slot = slot;
  here.mode = current_mode(here.state, here.shared);
  if (here.mode != TRACER_EXACT) {
    prepare_countdown(here.state, slot, here.shared, here.mode);
  } else if (block) {
    tid = current_tid(here.shared, slot, slot->key);
    if (tid != slot->tid) meet_thread(&here, tid, stack_pointer_of(call));
    if (slot->mode != TRACER_EXACT) prepare_countdown(here.state, slot, here.shared, TRACER_EXACT);
    send_alloc(&here, call, TRACER_EVENT_ALLOC, block, call->size);
  }
  leave(slot);
}

/* After an original that was called without tracer_before: hooks.S found the thread's slot in exact mode, and
 * nothing else was looked at. Here is what nearly all calls are: all is as it was for the call before, and
 * the ring has room that is in one piece. */
HIDDEN void tracer_after_exact(struct call* call, u64 block) {
  struct slot* slot = (struct slot*)call->slot;
  struct state* s = (struct state*)tracer_config.state;
  struct tracer_shared* shared = (struct tracer_shared*)load_relaxed(&s->head.shared);
  struct here here = {s, shared, slot, TRACER_EXACT};
  u64 head = slot->head, *place;
  u32 stack;
  if (UNLIKELY(!shared || s->mode != TRACER_EXACT || s->switched_off ||
               load_relaxed(&shared->mode) != TRACER_EXACT) ||
      UNLIKELY(!block || call->size >= 0xffffffffu) ||
      UNLIKELY(load_relaxed((const u32*)(slot->key + s->tid_offset)) != slot->tid) ||
      UNLIKELY(head + sizeof(struct tracer_event_alloc) > slot->limit)) {
    record_otherwise(call, block);
    return;
  }
  stack = walk_and_number(&here, call);
  if (UNLIKELY(head != slot->head)) { /* a new stack was sent: its number is known now */
    record_otherwise(call, block);
    return;
  }
  place = (u64*)(head + slot->bias);
  prefetch_to_write((u64)place + PREFETCH_BYTES);
  place[0] = (raw_stamp(s) << 8 | TRACER_EVENT_ALLOC) + s->first_bias;
  place[1] = TRACER_BLOCK(block, allocator_of(call));
  place[2] = call->size | (u64)stack << 32;
  head += sizeof(struct tracer_event_alloc);
  slot->head = head;
  store_release(&((struct tracer_ring*)slot->ring)->head, head);
  leave(slot);
}

/* Before a function that frees. */
HIDDEN void tracer_free(struct call* call) {
  struct here here;
  u64 block = call->argument_0, ticks;
  if (!block || !enter(&here, stack_pointer_of(call))) return;
  ticks = now_stamp(here.state, here.shared);
  if (here.mode == TRACER_EXACT || remove_block(here.state, block)) {
    block = TRACER_BLOCK(block, allocator_of(call));
    if (shape_of(call) == TRACER_FREE_SIZED)
      send_free_sized(&here, block, call->argument_1, ticks);
    else
      send_free(&here, block, ticks);
  }
  leave(here.slot);
}
