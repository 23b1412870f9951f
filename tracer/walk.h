/* Walking the stack of this thread, from tables, and not more of it than has changed since the walk before.
 *
 * A walk goes from the leaf towards the root with the tables until it meets a frame of the walk before: same
 * pc, same sp, and same rbp if a frame further out depends on it. What a step gives depends on nothing but
 * these, the tables, and the words of memory that the step reads: the return address and mostly at most one
 * saved rbp. So from there on it is enough to compare these words with what they were, without following the
 * one to find the other, and a saved rbp only where it is needed further out. Where one differs, the tables
 * lead there and beyond. This is exact and no guess: the result equals that of a full walk.
 *
 * The fuzz target includes this file as it is. */
#ifndef FATHOM_TRACER_WALK_H
#define FATHOM_TRACER_WALK_H

#include "tracer/machine.h"
#include "tracer/stack_memory.h"
#include "tracer/state.h"

/* struct frame and fresh_frame, about the step from the frame to its caller */
#define FRAME_USES_RBP 1     /* it needs rbp */
#define FRAME_PASSES_RBP 2   /* rbp is the caller's too */
#define FRAME_RARE 4         /* it reads other words than return address and saved rbp: to be done again */
#define FRAME_NEEDS_RBP 8    /* this step, or a later one through this one, needs rbp */
#define FRAME_CHECKS_RBP 128 /* it gives the caller an rbp that is needed there, from saved_rbp */
#define FRAME_END_FIXED 16   /* the walk ends here whatever is in memory */
/* struct remembered_rule, besides the first two of these */
#define RULE_SIMPLE 32
#define RULE_SAVES_RBP 64
#define SAVED_NOWHERE 0xffffffffu
#define SAVED_UNDEFINED 0xfffffffeu

/* A thread's walk in progress, seen from the functions that are seldom needed: the common step needs the
 * bounds only. */
struct walker {
  struct state* state;
  struct thread* thread;
  const struct tracer_shared* shared;
  const struct unwind_mapping* mappings;
  u32 mapping_count, epoch;
  u64 low, high; /* what may be read directly: a word may start in [low, high] */
  u32 through_kernel;
};

#define STEP_FN static inline
struct step_walk;
INLINE int step_read_u64(struct step_walk* w, u64 address, u64* value);
INLINE int step_read_code(struct step_walk* w, u64 address, u64* value);
INLINE int step_read_register(struct step_walk* w, u32 number, u64* value);
INLINE const struct unwind_mapping* step_mapping(struct step_walk* w, u32 index);
INLINE unwind_page step_page(struct step_walk* w, u32 page);
INLINE unwind_row step_row(struct step_walk* w, u32 row);
INLINE const struct unwind_rule* step_rule(struct step_walk* w, u32 rule);

#include "step/step.h"

INLINE const struct walker* walker_of(const struct step_walk* w) {
  return (const struct walker*)w->env;
}

static NO_INLINE int read_otherwise(const struct walker* walker, u64 address, u64* value) {
  if (!walker->through_kernel || !read_foreign_word(walker->state, walker->thread, address, value))
    return WALK_READ_FAULT;
  return 0;
}

INLINE int step_read_u64(struct step_walk* w, u64 address, u64* value) {
  const struct walker* walker = walker_of(w);
  if (UNLIKELY(address < walker->low || address > walker->high))
    return read_otherwise(walker, address, value);
  *value = *(const volatile u64*)address;
  return 0;
}

/* What the tables know as code may have been unmapped since. */
INLINE int step_read_code(struct step_walk* w, u64 address, u64* value) {
  (void)w, (void)address, (void)value;
  return -1;
}

/* The first frame is that of a caller: only what survives a call could be known, and its rule never asks for
 * that. */
INLINE int step_read_register(struct step_walk* w, u32 number, u64* value) {
  (void)w, (void)number, (void)value;
  return -1;
}

INLINE const struct unwind_mapping* step_mapping(struct step_walk* w, u32 index) {
  return index < w->mapping_count ? &walker_of(w)->mappings[index] : 0;
}

INLINE unwind_page step_page(struct step_walk* w, u32 page) {
  const struct tracer_shared* shared = walker_of(w)->shared;
  return page < shared->pages_count ? ((const unwind_page*)((u64)shared + shared->pages_offset))[page] : 0;
}

INLINE unwind_row step_row(struct step_walk* w, u32 row) {
  const struct tracer_shared* shared = walker_of(w)->shared;
  return row < shared->rows_count ? ((const unwind_row*)((u64)shared + shared->rows_offset))[row] : 0;
}

INLINE const struct unwind_rule* step_rule(struct step_walk* w, u32 rule) {
  const struct tracer_shared* shared = walker_of(w)->shared;
  return rule < shared->rules_count ? &((const struct unwind_rule*)((u64)shared + shared->rules_offset))[rule]
                                    : 0;
}

INLINE u64 hash_frame(u64 hash, u64 pc) {
  hash = (hash ^ pc) * HASH_FACTOR;
  return hash ^ hash >> 32;
}

/* Where a walk stands. */
struct position {
  u64 pc; /* with WALK_EXACT */
  u64 sp, fp;
};

/* What a step read, and from where, besides the return address. */
struct step_facts {
  u32 flags, saved_rbp;
};

/* What the step by `rule` from `sp` to `new_sp` read. */
INLINE struct step_facts describe_step(const struct unwind_rule* rule, u64 sp, u64 new_sp) {
  struct step_facts facts = {0, SAVED_NOWHERE};
  const struct step_facts rare = {FRAME_RARE | FRAME_USES_RBP, SAVED_NOWHERE};
  if (rule->cfa == CFA_RBP)
    facts.flags = FRAME_USES_RBP;
  else if (rule->cfa != CFA_RSP && rule->cfa != CFA_PLT)
    return rare;
  if (rule->rbp == RBP_AT_CFA) {
    u64 slot = new_sp + (u64)(s64)rule->rbp_offset;
    if (slot < sp)
      facts.flags |= FRAME_PASSES_RBP; /* popped already: step_by_rule keeps rbp */
    else if (slot - sp < SAVED_UNDEFINED)
      facts.saved_rbp = (u32)(slot - sp);
    else
      return rare;
  } else if (rule->rbp == RBP_SAME) {
    facts.flags |= FRAME_PASSES_RBP;
  } else if (rule->rbp == RBP_UNDEFINED) {
    facts.saved_rbp = SAVED_UNDEFINED;
  } else {
    return rare;
  }
  return facts;
}

INLINE struct remembered_rule* rule_slot(struct thread* t, u64 pc) {
  return &t->rules[(pc ^ pc >> 9) & (REMEMBERED_RULES - 1)];
}

/* Rules whose steps take_simple_step can do: they read the return address and at most a saved rbp below it.
 */
INLINE u32 simple_flags(const struct unwind_rule* rule) {
  u32 flags = rule->cfa == CFA_RBP ? RULE_SIMPLE | FRAME_USES_RBP : RULE_SIMPLE;
  if (rule->cfa != CFA_RSP && rule->cfa != CFA_RBP) return 0;
  if (rule->rbp == RBP_SAME) return flags | FRAME_PASSES_RBP;
  if (rule->rbp == RBP_AT_CFA && rule->rbp_offset <= -16) return flags | RULE_SAVES_RBP;
  return 0;
}

/* A step of any kind, and its rule remembered. Returns as step_once does. */
static NO_INLINE int take_step(const struct walker* walker, struct position* at, struct step_facts* facts) {
  struct thread* t = walker->thread;
  struct remembered_rule* slot = rule_slot(t, at->pc);
  const u64 sp = at->sp;
  struct step_walk w = {.pc = at->pc & ~WALK_EXACT, .sp = sp, .fp = at->fp};
  int end;
  w.exact = (u32)(at->pc >> 63);
  w.env = (u64)walker;
  w.mapping_count = walker->mapping_count;
  if (slot->pc != at->pc) {
    const struct unwind_rule* found = 0;
    if (step_find_rule(&w, &found)) {
      end = step_once(&w);
      facts->flags = end == WALK_NO_MAPPING ? FRAME_END_FIXED : FRAME_RARE | FRAME_USES_RBP;
      facts->saved_rbp = SAVED_NOWHERE;
      if (end) return end;
      goto stepped;
    }
    slot->pc = at->pc;
    slot->rule = *found;
    slot->flags = simple_flags(found);
  }
  end = step_by_rule(&w, &slot->rule);
  if (end) {
    facts->flags = slot->rule.cfa == CFA_END ? FRAME_END_FIXED : FRAME_RARE | FRAME_USES_RBP;
    facts->saved_rbp = SAVED_NOWHERE;
    return end;
  }
  *facts = describe_step(&slot->rule, sp, w.sp);
stepped:
  at->pc = w.pc | (u64)w.exact << 63;
  at->sp = w.sp;
  at->fp = w.fp;
  return 0;
}

/* The step that nearly all are: by a remembered rule from rsp or rbp, with everything between sp, which can
 * be read, and high. 0: it is another one. */
INLINE int take_simple_step(struct thread* t, u64 high, struct position* at, struct step_facts* facts) {
  const struct remembered_rule* slot = rule_slot(t, at->pc);
  u32 flags = slot->flags;
  u64 cfa, ra;
  if (UNLIKELY(slot->pc != at->pc) || UNLIKELY(!(flags & RULE_SIMPLE))) return 0;
  cfa = (flags & FRAME_USES_RBP ? at->fp : at->sp) + (u64)(s64)slot->rule.cfa_offset;
  if (UNLIKELY(cfa - 8 < at->sp || cfa - 8 > high)) return 0;
  ra = *(const volatile u64*)(cfa - 8);
  if (UNLIKELY(ra - 1 >= WALK_EXACT - 1)) return 0;
  facts->flags = flags & (FRAME_USES_RBP | FRAME_PASSES_RBP);
  facts->saved_rbp = SAVED_NOWHERE;
  if (flags & RULE_SAVES_RBP) {
    u64 saved = cfa + (u64)(s64)slot->rule.rbp_offset - at->sp;
    if (UNLIKELY(saved >= SAVED_UNDEFINED)) return 0;
    facts->saved_rbp = (u32)saved;
    at->fp = *(const volatile u64*)(at->sp + saved);
  }
  at->pc = ra;
  at->sp = cfa;
  return 1;
}

/* Do the frames of the walk before from number `at` on still lead to each other and to the same end? -1: they
 * do, else the first whose step leads elsewhere now. rbp is as it was in `at` if that frame needs it, and by
 * the checks in each further one that does; in the others it is not known and not asked for. */
INLINE int compare_frames(const struct walker* walker, const struct frame* frames, int at) {
  struct step_facts facts;
  struct position position;
  for (; at > 0; at--) {
    const struct frame* frame = &frames[at];
    const struct frame* caller = &frames[at - 1];
    if (UNLIKELY(*(const volatile u64*)frame->return_slot != caller->pc)) return at;
    if (LIKELY(!(frame->flags & (FRAME_RARE | FRAME_CHECKS_RBP)))) continue;
    if (frame->flags & FRAME_RARE) {
      position = (struct position){frame->pc, frame->sp, frame->fp};
      if (take_step(walker, &position, &facts) || position.pc != caller->pc || position.sp != caller->sp ||
          ((caller->flags & FRAME_NEEDS_RBP) && position.fp != caller->fp))
        return at;
    } else if (*(const volatile u64*)(frame->sp + frame->saved_rbp) != caller->fp) {
      return at;
    }
  }
  if (frames[0].flags & FRAME_END_FIXED) return -1;
  position = (struct position){frames[0].pc, frames[0].sp, frames[0].fp};
  return (u32)take_step(walker, &position, &facts) == walker->thread->end ? -1 : 0;
}

/* The tables have changed: what was remembered of them is void. */
static NO_INLINE void forget_rules(struct thread* t, u32 epoch) {
  for (int i = 0; i < REMEMBERED_RULES; i++) t->rules[i].pc = 0;
  t->frame_count = 0;
  t->table_epoch = epoch;
}

/* Puts the walker in place for the thread's stack from `sp` on. */
INLINE void begin_walk(struct walker* walker, struct state* s, const struct tracer_shared* shared,
                       const struct slot* slot, u64 sp) {
  struct thread* t = thread_of(s, slot);
  u64 run;
  u32 epoch = load_acquire(&shared->table_epoch);
  if (UNLIKELY(t->table_epoch != epoch)) forget_rules(t, epoch);
  run = load_acquire(&shared->mapping_run);
  walker->state = s;
  walker->thread = t;
  walker->shared = shared;
  walker->mappings = (const struct unwind_mapping*)((u64)shared + shared->mappings_offset) + (u32)run;
  walker->mapping_count = (u32)(run >> 32);
  if (UNLIKELY((run & 0xffffffff) + (run >> 32) > shared->mappings_count)) walker->mapping_count = 0;
  walker->through_kernel = 0;
  walker->low = sp;
  walker->high = t->stack_high - 8;
  if (UNLIKELY(sp < t->stack_low || sp >= t->stack_high)) {
    if (find_own_stack(s, shared, slot, sp)) {
      walker->high = t->stack_high - 8;
    } else {
      walker->low = ~0ull;
      walker->high = 0;
      walker->through_kernel = shared->may_call_kernel;
      t->window_bytes = 0;
      t->frame_count = 0; /* other memory than that of the walk before, and read at a price */
    }
  }
}

/* The limit of simple steps after another one: none are possible from where a signal frame, say, may have led
 * to. */
INLINE u64 simple_limit(const struct walker* walker, u64 high, u64 sp) {
  return sp >= walker->low && sp <= walker->high ? high : 0;
}

/* The first TRACER_MAX_FRAMES frames into t->fresh, by the tables alone. */
static NO_INLINE int walk_deep_stack(const struct walker* walker, struct position at) {
  struct thread* t = walker->thread;
  struct step_facts facts;
  u64 high = walker->high;
  for (int i = 0; i < TRACER_MAX_FRAMES; i++) {
    int end;
    t->fresh[i].pc = at.pc;
    if (take_simple_step(t, high, &at, &facts)) continue;
    end = take_step(walker, &at, &facts);
    if (end) return end; /* cannot be: it was deeper a moment ago */
    high = simple_limit(walker, high, at.sp);
  }
  return WALK_DEPTH_LIMIT;
}

/* Walks from the caller of a hook (pc a return address). The frames are left in t->frames, root first,
 * t->frame_count of them, and how it ended in t->end. */
INLINE void walk_stack(const struct walker* walker, struct thread* t, u64 pc, u64 sp, u64 fp) {
  struct frame* frames = t->frames;
  struct fresh_frame* fresh = t->fresh;
  struct position at = {pc, sp, fp};
  u64 high = walker->high;
  int known = (int)t->frame_count; /* frames[0 .. known) may be met */
  int count = 0, end = 0, keep = !walker->through_kernel;
  u64 hash;
  u32 needs;

  for (;;) {
    struct step_facts facts;
    while (known > 0 && frames[known - 1].sp < at.sp) known--;
    if (known > 0 && frames[known - 1].sp == at.sp && frames[known - 1].pc == at.pc &&
        (frames[known - 1].fp == at.fp || !(frames[known - 1].flags & FRAME_NEEDS_RBP))) {
      int differs = compare_frames(walker, frames, known - 1);
      if (LIKELY(differs < 0)) {
        end = (int)t->end;
        break;
      }
      known =
          differs; /* only what lies beyond may be met again; up to there by the tables, for the true rbp */
    }
    if (UNLIKELY(count == TRACER_MAX_FRAMES)) goto deep;
    fresh[count].pc = at.pc;
    fresh[count].sp = at.sp;
    fresh[count].fp = at.fp;
    if (UNLIKELY(!take_simple_step(t, high, &at, &facts))) {
      struct position away = at;
      end = take_step(walker, &away, &facts);
      if (!end &&
          away.sp <= at.sp) { /* from a signal handler's stack to another one: no order to find frames by */
        keep = 0;
        known = 0;
      }
      high = simple_limit(walker, high, away.sp);
      at = away;
    }
    fresh[count].flags = facts.flags;
    fresh[count].saved_rbp = facts.saved_rbp;
    count++;
    if (UNLIKELY(end)) {
      known = 0;
      break;
    }
  }
  if (UNLIKELY(known + count > TRACER_MAX_FRAMES)) {
  deep:
    end = walk_deep_stack(walker, (struct position){pc, sp, fp});
    known = 0;
    count = TRACER_MAX_FRAMES;
    keep = 0;
  }

  hash = known ? frames[known - 1].hash : 0;
  needs = known ? frames[known - 1].flags & FRAME_NEEDS_RBP : 0;
  for (; count > 0; known++) {
    const struct fresh_frame* from = &fresh[--count];
    struct frame* frame = &frames[known];
    u32 flags = from->flags;
    hash = hash_frame(hash, from->pc);
    frame->pc = from->pc;
    frame->sp = from->sp;
    frame->fp = from->fp;
    frame->hash = hash;
    frame->saved_rbp = from->saved_rbp;
    /* a rare step is done again, which reads what it reads: here is only something that never differs */
    frame->return_slot = flags & FRAME_RARE ? (u64)&frame[-1].pc : frame[-1].sp - 8;
    if (needs && from->saved_rbp < SAVED_UNDEFINED) flags |= FRAME_CHECKS_RBP;
    needs = (flags & FRAME_USES_RBP) || ((flags & FRAME_PASSES_RBP) && needs) ? FRAME_NEEDS_RBP : 0;
    frame->flags = flags | needs;
  }
  t->walked_count = (u32)known;
  t->frame_count = keep ? (u32)known : 0;
  t->end = (u32)end;
}

#endif
