/* The slow paths of the hooks: which calls are recorded, and what is written of them. hooks.S calls
 * tracer_before and tracer_after around the original function, tracer_free before one that frees.
 * Freestanding: no libc, no thread-local storage, no relocation, and nothing here can fail loudly; what
 * cannot be recorded is counted, and the program runs on. */
#include "tracer/machine.h"
#include "tracer/ring.h"
#include "tracer/sampling.h"
#include "tracer/stacks.h"
#include "tracer/state.h"
#include "tracer/threads.h"
#include "tracer/walk.h"

#define HIDDEN __attribute__((visibility("hidden")))
extern const volatile struct tracer_config tracer_config;
extern const u8 tracer_image_start[], tracer_image_end[];

/* Who calls, and with which orders. */
struct here {
  struct state* state;
  struct tracer_shared* shared;
  struct slot* slot;
  struct thread* thread;
  u64 key;
  u32 mode;
};

INLINE u64 saturated_product(u64 a, u64 b) {
  u64 product;
  return __builtin_mul_overflow(a, b, &product) ? ~0ull : product;
}

INLINE u64 asked_size(const struct call* call, u32 shape) {
  switch (shape) {
    case TRACER_CALLOC:
      return saturated_product(call->rdi, call->rsi);
    case TRACER_ALIGNED:
    case TRACER_REALLOC:
    case TRACER_XALLOCX:
      return call->rsi;
    case TRACER_POSIX:
      return call->rdx;
    case TRACER_REALLOCARRAY:
      return saturated_product(call->rsi, call->rdx);
    default:
      return call->rdi;
  }
}

INLINE int is_realloc(u32 shape) {
  return shape == TRACER_REALLOC || shape == TRACER_REALLOCARRAY;
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
static NO_INLINE int is_nested(const struct here* here, u64 sp) {
  const struct thread* t = here->thread;
  u64 busy_sp = here->slot->busy_sp, end = busy_sp - sizeof(struct call) - 8;
  if (end >= t->stack_low && busy_sp < t->stack_high && sp >= t->stack_low && sp < t->stack_high) {
    if (sp > busy_sp) return 0;
    if (*(const volatile u64*)end - (u64)tracer_image_start >= (u64)(tracer_image_end - tracer_image_start))
      return 0;
  }
  add_relaxed(&here->shared->nested, 1);
  return 1;
}

/* Who are we, and is this call to be looked at? 0: pass through. */
INLINE int enter(struct here* here, u64 sp) {
  struct state* s = (struct state*)tracer_config.state;
  struct tracer_shared* shared = (struct tracer_shared*)load_relaxed(&s->head.shared);
  struct slot* slot;
  u32 mode, tid, old_tid;
  if (UNLIKELY(!shared)) return 0; /* a forked child */
  mode = load_relaxed(&shared->mode);
  if (UNLIKELY(load_relaxed(&s->switched_off))) mode = TRACER_OFF;
  if (UNLIKELY(load_relaxed(&s->mode) != mode)) store_relaxed(&s->mode, mode);
  here->key = thread_control_block();
  if (UNLIKELY(!here->key)) return 0;
  if (UNLIKELY(mode == TRACER_OFF)) {
    /* no slot is made, so that the mode is looked at again by those who have none */
    slot = &s->slots[slot_home(here->key)];
    if (load_relaxed(&slot->key) == here->key && !slot->busy_sp) {
      slot->mode = TRACER_OFF;
      slot->countdown = load_relaxed(&s->switched_off) ? COUNTDOWN_NEVER : COUNTDOWN_IDLE;
    }
    return 0;
  }
  slot = find_slot(s, shared, here->key);
  if (UNLIKELY(!slot)) {
    add_relaxed(&shared->lost_no_slot, 1);
    return 0;
  }
  here->state = s;
  here->shared = shared;
  here->slot = slot;
  here->thread = thread_of(s, slot);
  here->mode = mode;
  tid = current_tid(shared, slot, here->key);
  old_tid = slot->tid;
  if (UNLIKELY(tid == old_tid && slot->busy_sp) && is_nested(here, sp)) return 0;
  slot->busy_sp = sp;
  signal_fence();
  if (UNLIKELY(tid != old_tid)) {
    begin_thread(s, slot, tid);
    find_own_stack(s, shared, slot, sp);
    take_ring(s, shared, slot, old_tid);
  }
  if (UNLIKELY(slot->mode != mode)) prepare_countdown(slot, shared, mode);
  return 1;
}

INLINE void leave(const struct here* here) {
  signal_fence();
  here->slot->busy_sp = 0;
}

/* The thread's ring, with its THREAD event sent. 0: none, and the event is counted as lost. */
INLINE struct tracer_ring* ready_ring(const struct here* here) {
  struct slot* slot = here->slot;
  struct tracer_ring* ring = (struct tracer_ring*)slot->ring;
  struct record record;
  if (UNLIKELY(!ring || load_relaxed(&ring->owner) != slot->tid)) {
    ring = take_ring(here->state, here->shared, slot, 0);
    if (!ring) {
      add_relaxed(&here->shared->lost_no_ring, 1);
      return 0;
    }
  }
  if (UNLIKELY((slot->events++ & (HEARTBEAT_EVENTS - 1)) == 0) &&
      !heart_beats(here->shared, now_ticks(here->shared))) {
    switch_off(here->state, here->shared);
    return 0;
  }
  if (UNLIKELY(!here->thread->announced)) {
    if (!begin_record(&record, here->state, here->shared, here->thread, ring,
                      sizeof(struct tracer_event_thread), here->mode == TRACER_EXACT))
      return 0;
    put(&record, TRACER_FIRST(now_ticks(here->shared), TRACER_EVENT_THREAD));
    put(&record, slot->tid);
    end_record(&record);
    here->thread->announced = 1;
  }
  return ring;
}

INLINE int begin_event(struct record* record, const struct here* here, struct tracer_ring* ring, u32 bytes) {
  return begin_record(record, here->state, here->shared, here->thread, ring, bytes,
                      here->mode == TRACER_EXACT);
}

static NO_INLINE u32 walk_and_number(const struct here* here, const struct call* call,
                                     struct tracer_ring* ring) {
  struct walker walker;
  u64 sp = stack_pointer_of(call);
  begin_walk(&walker, here->state, here->shared, here->slot, sp);
  walk_stack(&walker, here->thread, call->return_address, sp, call->rbp);
  return stack_number(here->state, here->shared, here->thread, ring, here->slot->events,
                      here->mode == TRACER_EXACT);
}

static NO_INLINE void send_free(const struct here* here, u64 block, u64 ticks) {
  struct tracer_ring* ring = ready_ring(here);
  struct record record;
  if (!ring || !begin_event(&record, here, ring, sizeof(struct tracer_event_free))) return;
  put(&record, TRACER_FIRST(ticks, TRACER_EVENT_FREE));
  put(&record, block);
  end_record(&record);
}

INLINE u32 saturated_size(u64 size) {
  return size < 0xffffffffu ? (u32)size : 0xffffffffu;
}

/* An alloc or resize. */
INLINE void send_alloc(const struct here* here, const struct call* call, u32 kind, u64 block, u64 size) {
  struct tracer_ring* ring = ready_ring(here);
  struct record record;
  u32 stack, small = saturated_size(size),
             bytes = sizeof(struct tracer_event_alloc) + (small == 0xffffffffu ? 8 : 0);
  if (!ring) return;
  stack = walk_and_number(here, call, ring);
  if (!begin_event(&record, here, ring, bytes)) return;
  put(&record, TRACER_FIRST(now_ticks(here->shared), kind));
  put(&record, TRACER_BLOCK(block, allocator_of(call)));
  put(&record, small | (u64)stack << 32);
  if (UNLIKELY(small == 0xffffffffu)) put(&record, size);
  end_record(&record);
}

static NO_INLINE void send_realloc(const struct here* here, const struct call* call, u64 block) {
  struct tracer_ring* ring = ready_ring(here);
  struct record record;
  u64 allocator = allocator_of(call);
  u32 stack, small = saturated_size(call->size);
  u32 bytes = sizeof(struct tracer_event_realloc) + (small == 0xffffffffu ? 8 : 0);
  if (!ring) return;
  stack = walk_and_number(here, call, ring);
  if (!begin_event(&record, here, ring, bytes)) return;
  put(&record, TRACER_FIRST(now_ticks(here->shared), TRACER_EVENT_REALLOC));
  put(&record, TRACER_BLOCK(call->rdi, allocator));
  put(&record, call->ticks_before);
  put(&record, block ? TRACER_BLOCK(block, allocator) : 0);
  put(&record, small | (u64)stack << 32);
  if (UNLIKELY(small == 0xffffffffu)) put(&record, call->size);
  end_record(&record);
}

/* The block enters the set before the program gets it, so that its free is seen; and the set before the
 * event, so that what is recorded can be freed. */
static NO_INLINE void send_sample(const struct here* here, const struct call* call, u64 block) {
  struct tracer_ring* ring = ready_ring(here);
  struct record record;
  u32 stack, mean = here->slot->mean;
  if (!ring) return;
  if (!insert_block(here->state, block)) {
    add_relaxed(&here->shared->lost_set_full, 1);
    return;
  }
  stack = walk_and_number(here, call, ring);
  if (!begin_event(&record, here, ring, sizeof(struct tracer_event_sample))) {
    remove_block(here->state, block);
    return;
  }
  put(&record, TRACER_FIRST(now_ticks(here->shared), TRACER_EVENT_SAMPLE));
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
    left = here.slot->countdown - (s64)call->size;
    if (left < 0)
      call->sampled |= SAMPLED_NEW;
    else
      here.slot->countdown = left;
    if (is_realloc(shape) && call->rdi && has_block(here.state, call->rdi)) call->sampled |= SAMPLED_OLD;
    if (!call->sampled) goto pass;
  }
  if (shape == TRACER_NEW) {
    call->target = tracer_config.partner[call->hook & (TRACER_HOOKS - 1)];
    if (!call->target) {
      add_relaxed(&here.shared->lost_throwing, 1);
      goto pass;
    }
  }
  if (is_realloc(shape)) call->ticks_before = now_ticks(here.shared);
  return 1;
pass:
  leave(&here);
  return 0;
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
    return shape == TRACER_NEW && !block; /* a signal handler forked, and we are the child */
  here.slot = (struct slot*)call->slot;
  here.thread = thread_of(here.state, here.slot);
  here.key = here.slot->key;
  here.mode = here.slot->mode;

  if (shape == TRACER_POSIX) block = (u32)block == 0 ? *(const volatile u64*)call->rdi : 0;
  failed = block == 0 && !(is_realloc(shape) && call->size == 0 && call->rdi);
  if (shape == TRACER_NEW && failed) add_relaxed(&here.shared->lost_throwing, 1);

  if (here.mode == TRACER_EXACT) {
    if (shape == TRACER_XALLOCX) {
      u64 most = call->rsi + call->rdx < call->rsi ? ~0ull : call->rsi + call->rdx;
      if (block >= call->rsi)
        send_alloc(&here, call, TRACER_EVENT_RESIZE, call->rdi, block < most ? block : most);
    } else if (!failed && is_realloc(shape)) {
      send_realloc(&here, call, block);
    } else if (!failed) {
      send_alloc(&here, call, TRACER_EVENT_ALLOC, block, call->size);
    }
  } else if (here.mode == TRACER_SAMPLED) {
    /* An old block is forgotten only now that it is surely freed. Its address may have been given out and
     * sampled anew by another thread meanwhile; then it is in the set twice, and one of the two is taken out.
     */
    if (!failed && (call->sampled & SAMPLED_OLD) && remove_block(here.state, call->rdi))
      send_free(&here, TRACER_BLOCK(call->rdi, allocator_of(call)), call->ticks_before);
    if (call->sampled & SAMPLED_NEW) {
      if (block) send_sample(&here, call, block);
      prepare_countdown(here.slot, here.shared, TRACER_SAMPLED);
    }
  }
  leave(&here);
  return shape == TRACER_NEW && failed;
}

/* Before a function that frees. */
HIDDEN void tracer_free(struct call* call) {
  struct here here;
  u64 block = call->rdi;
  if (!block || !enter(&here, stack_pointer_of(call))) return;
  if (here.mode == TRACER_EXACT) {
    send_free(&here, TRACER_BLOCK(block, allocator_of(call)), now_ticks(here.shared));
  } else {
    u64 ticks = now_ticks(here.shared);
    if (remove_block(here.state, block)) send_free(&here, TRACER_BLOCK(block, allocator_of(call)), ticks);
  }
  leave(&here);
}
