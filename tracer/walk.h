/* Walking the stack of this thread, from tables, and not more of it than has changed since the walk before.
 *
 * A walk goes from the leaf towards the root with the tables until it meets a frame of the walk before: same
 * pc, same sp, and same rbp if a frame further out depends on it. What a step gives depends on nothing but
 * these, the tables, and the words of memory that the step reads: the return address and mostly at most one
 * saved rbp. So from there on it is enough to compare these words with what they were, without following the
 * one to find the other; where one differs, the tables take over again. This is exact and no guess: the
 * result equals that of a full walk.
 *
 * The fuzz target includes this file as it is. */
#ifndef FATHOM_TRACER_WALK_H
#define FATHOM_TRACER_WALK_H

#include "tracer/machine.h"
#include "tracer/stack_memory.h"
#include "tracer/state.h"

/* struct frame and fresh_frame, about the step from the frame to its caller */
#define FRAME_USES_RBP 1   /* it needs rbp */
#define FRAME_PASSES_RBP 2 /* rbp is the caller's too */
#define FRAME_RARE 4       /* it reads other words than return address and saved rbp: to be done again */
#define FRAME_NEEDS_RBP 8  /* this step, or a later one through this one, needs rbp */
#define FRAME_END_FIXED 16 /* the walk ends here whatever is in memory */
#define SAVED_NOWHERE 0xffffffffu
#define SAVED_UNDEFINED 0xfffffffeu

struct walker {
  struct state* state;
  struct thread* thread;
  const struct unwind_mapping* mappings;
  const unwind_page* pages;
  const unwind_row* rows;
  const struct unwind_rule* rules;
  u32 page_count, row_count, rule_count, epoch;
  u64 low, high; /* what may be read directly: [low, high] is where a word may start; high 0: nothing */
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
  return page < walker_of(w)->page_count ? walker_of(w)->pages[page] : 0;
}

INLINE unwind_row step_row(struct step_walk* w, u32 row) {
  return row < walker_of(w)->row_count ? walker_of(w)->rows[row] : 0;
}

INLINE const struct unwind_rule* step_rule(struct step_walk* w, u32 rule) {
  return rule < walker_of(w)->rule_count ? &walker_of(w)->rules[rule] : 0;
}

INLINE u64 hash_frame(u64 hash, u64 pc) {
  hash = (hash ^ pc) * HASH_FACTOR;
  return hash ^ hash >> 32;
}

INLINE u64 pc_of(const struct step_walk* w) {
  return w->pc | (u64)w->exact << 63;
}

/* What the step by `rule` from `sp` to `w` read besides the return address. */
INLINE u32 describe_step(const struct unwind_rule* rule, u64 sp, u64 new_sp, u32* saved_rbp) {
  u32 flags = 0;
  *saved_rbp = SAVED_NOWHERE;
  if (rule->cfa == CFA_RBP)
    flags |= FRAME_USES_RBP;
  else if (rule->cfa != CFA_RSP && rule->cfa != CFA_PLT)
    return FRAME_RARE | FRAME_USES_RBP;
  if (rule->rbp == RBP_AT_CFA) {
    u64 slot = new_sp + (u64)(s64)rule->rbp_offset;
    if (slot < sp) return flags | FRAME_PASSES_RBP; /* popped already: step_by_rule keeps rbp */
    if (slot - sp >= SAVED_UNDEFINED) return FRAME_RARE | FRAME_USES_RBP;
    *saved_rbp = (u32)(slot - sp);
    return flags;
  }
  if (rule->rbp == RBP_SAME) return flags | FRAME_PASSES_RBP;
  if (rule->rbp == RBP_UNDEFINED) {
    *saved_rbp = SAVED_UNDEFINED;
    return flags;
  }
  return FRAME_RARE | FRAME_USES_RBP;
}

/* One step with the remembered rules. Returns as step_once does, and says in flags and saved_rbp what it
 * depended on. */
INLINE int step_remembering(struct step_walk* w, u32* flags, u32* saved_rbp) {
  const struct walker* walker = walker_of(w);
  const u64 pc = pc_of(w), sp = w->sp;
  struct remembered_rule* slot = &walker->thread->rules[(pc ^ pc >> 9) & (REMEMBERED_RULES - 1)];
  int end;
  if (UNLIKELY(slot->pc != pc || slot->rule.unused != walker->epoch)) {
    const struct unwind_rule* found = 0;
    if (step_find_rule(w, &found)) {
      *flags = FRAME_RARE | FRAME_USES_RBP;
      *saved_rbp = SAVED_NOWHERE;
      end = step_once(w);
      if (end == WALK_NO_MAPPING) *flags |= FRAME_END_FIXED;
      return end;
    }
    slot->pc = pc;
    slot->rule = *found;
    slot->rule.unused = walker->epoch;
  }
  end = step_by_rule(w, &slot->rule);
  if (UNLIKELY(end)) {
    *flags = slot->rule.cfa == CFA_END ? FRAME_END_FIXED : FRAME_RARE | FRAME_USES_RBP;
    *saved_rbp = SAVED_NOWHERE;
    return end;
  }
  *flags = describe_step(&slot->rule, sp, w->sp, saved_rbp);
  return 0;
}

INLINE void stand_at(struct step_walk* w, u64 pc, u64 sp, u64 fp) {
  w->pc = pc & ~WALK_EXACT;
  w->exact = (u32)(pc >> 63);
  w->sp = sp;
  w->fp = fp;
}

/* Does the frame `at` of the walk before still lead to the frames below it (towards the root), when rbp is
 * `fp` there? Returns the first frame whose step does not, with its true rbp in it; -1: all do, and the walk
 * ends as it did. */
INLINE int compare_frames(struct step_walk* w, struct frame* frames, int at, u64 fp, u32 old_end) {
  u32 flags, saved;
  frames[at].fp = fp;
  for (; at > 0; at--) {
    struct frame* frame = &frames[at];
    struct frame* caller = &frames[at - 1];
    if (UNLIKELY(frame->flags & FRAME_RARE)) {
      stand_at(w, frame->pc, frame->sp, fp);
      if (step_remembering(w, &flags, &saved) || pc_of(w) != caller->pc || w->sp != caller->sp) return at;
      fp = w->fp;
    } else {
      if (*(const volatile u64*)(caller->sp - 8) != caller->pc) return at;
      if (frame->saved_rbp < SAVED_UNDEFINED)
        fp = *(const volatile u64*)(frame->sp + frame->saved_rbp);
      else if (frame->saved_rbp == SAVED_UNDEFINED)
        fp = 0;
    }
    if (fp != caller->fp) {
      if (caller->flags & FRAME_NEEDS_RBP) return at;
      caller->fp = fp;
    }
  }
  if (frames[0].flags & FRAME_END_FIXED) return -1;
  stand_at(w, frames[0].pc, frames[0].sp, fp);
  return (u32)step_remembering(w, &flags, &saved) == old_end ? -1 : 0;
}

/* Puts the walker in place for the thread's stack from `sp` on. */
INLINE void begin_walk(struct walker* walker, struct step_walk* w, struct state* s,
                       const struct tracer_shared* shared, struct thread* t, u64 key, u64 sp) {
  u64 base = (u64)shared, run;
  walker->epoch = load_acquire(&shared->table_epoch);
  run = load_acquire(&shared->mapping_run);
  walker->state = s;
  walker->thread = t;
  walker->mappings = (const struct unwind_mapping*)(base + shared->mappings_offset) + (u32)run;
  walker->pages = (const unwind_page*)(base + shared->pages_offset);
  walker->rows = (const unwind_row*)(base + shared->rows_offset);
  walker->rules = (const struct unwind_rule*)(base + shared->rules_offset);
  walker->page_count = shared->pages_count;
  walker->row_count = shared->rows_count;
  walker->rule_count = shared->rules_count;
  walker->through_kernel = 0;
  if (LIKELY(sp >= t->stack_low && sp < t->stack_high) || find_own_stack(s, shared, t, key, sp)) {
    walker->low = sp;
    walker->high = t->stack_high - 8;
  } else {
    walker->low = 1;
    walker->high = 0;
    walker->through_kernel = shared->may_call_kernel;
    t->window_bytes = 0;
    t->frame_count = 0; /* other memory than that of the walk before, and read at a price */
  }
  w->start = w->end = 0;
  w->mapping_index = 0;
  w->env = (u64)walker;
  w->mapping_first = 0;
  w->mapping_count =
      (u32)run <= shared->mappings_count && (u32)(run >> 32) <= shared->mappings_count - (u32)run
          ? (u32)(run >> 32)
          : 0;
  w->first = 0; /* a caller's frame: what stands on top of its stack is no return address */
}

/* Walks from the caller of a hook (pc a return address). The frames are left in t->frames, root first,
 * t->frame_count of them, and how it ended in t->end. */
INLINE void walk_stack(struct walker* walker, struct step_walk* w, struct thread* t, u64 pc, u64 sp, u64 fp) {
  struct frame* frames = t->frames;
  struct fresh_frame* fresh = t->fresh;
  int known = t->table_epoch == walker->epoch ? (int)t->frame_count : 0; /* frames[0 .. known) may be met */
  int count = 0, end = 0, keep = 1;
  u64 hash;
  u32 needs;

  stand_at(w, pc, sp, fp);
  for (;;) {
    u64 here;
    while (known > 0 && frames[known - 1].sp < w->sp) known--;
    here = pc_of(w);
    if (known > 0 && frames[known - 1].sp == w->sp && frames[known - 1].pc == here &&
        (frames[known - 1].fp == w->fp || !(frames[known - 1].flags & FRAME_NEEDS_RBP))) {
      int at = compare_frames(w, frames, known - 1, w->fp, t->end);
      if (at < 0) {
        end = (int)t->end;
        break;
      }
      /* frames[known - 1 .. at] hold, the step from frames[at] leads elsewhere */
      if (count + known - at > TRACER_MAX_FRAMES) {
        known = 0; /* too deep to be kept: all of it by the tables */
        count = 0;
        stand_at(w, pc, sp, fp);
        continue;
      }
      for (int i = known - 1; i > at; i--) {
        fresh[count++] = (struct fresh_frame){frames[i].pc, frames[i].sp, frames[i].fp, frames[i].saved_rbp,
                                              frames[i].flags};
      }
      known = at;
      stand_at(w, frames[at].pc, frames[at].sp, frames[at].fp);
      here = frames[at].pc;
    }
    if (count == TRACER_MAX_FRAMES) {
      end = WALK_DEPTH_LIMIT;
      break;
    }
    fresh[count].pc = here;
    fresh[count].sp = w->sp;
    fresh[count].fp = w->fp;
    end = step_remembering(w, &fresh[count].flags, &fresh[count].saved_rbp);
    count++;
    if (UNLIKELY(end)) {
      known = 0;
      break;
    }
    if (UNLIKELY(w->sp <= fresh[count - 1].sp)) { /* from a signal handler's stack to another one */
      keep = 0;
      known = 0;
    }
  }
  if (UNLIKELY(known + count > TRACER_MAX_FRAMES)) {
    t->frame_count = 0;
    known = count = 0;
    stand_at(w, pc, sp, fp);
    for (;;) {
      if (count == TRACER_MAX_FRAMES) {
        end = WALK_DEPTH_LIMIT;
        break;
      }
      fresh[count].pc = pc_of(w);
      end = step_remembering(w, &fresh[count].flags, &fresh[count].saved_rbp);
      count++;
      if (end) break;
    }
  }

  hash = known ? frames[known - 1].hash : 0;
  needs = known ? frames[known - 1].flags & FRAME_NEEDS_RBP : 0;
  for (int i = known; count > 0; i++) {
    const struct fresh_frame* from = &fresh[--count];
    u32 flags = from->flags & ~(u32)FRAME_NEEDS_RBP;
    needs = (flags & FRAME_USES_RBP) || ((flags & FRAME_PASSES_RBP) && needs) ? FRAME_NEEDS_RBP : 0;
    hash = hash_frame(hash, from->pc);
    frames[i].pc = from->pc;
    frames[i].sp = from->sp;
    frames[i].fp = from->fp;
    frames[i].hash = hash;
    frames[i].saved_rbp = from->saved_rbp;
    frames[i].flags = flags | needs;
    known = i + 1;
  }
  t->frame_count = (u32)known;
  t->end = (u32)end;
  t->table_epoch =
      keep && end != WALK_DEPTH_LIMIT && !walker->through_kernel ? walker->epoch : walker->epoch - 1;
}

#endif
