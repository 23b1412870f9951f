/* Walking the stack of this thread, from tables, and not more of it than has changed since the walk before.
 *
 * A walk goes from the leaf towards the root with the tables until it meets a frame of the walk before: same
 * pc, same sp, and same rbp if a frame further out depends on it. What a step gives depends on nothing but
 * these, the tables, and the words of memory that the step reads: the return address and mostly at most one
 * saved rbp. So from there on it is enough to compare these words with what they were, without following the
 * one to find the other, and a saved rbp only where it is needed further out. They are compared from the root
 * inwards, once: where the first differs, the tables lead there, and a frame beyond is met. This is exact and
 * no guess: the result equals that of a full walk. Nothing is read where no frame was met: the memory that
 * the walk before was on may be gone.
 *
 * The fuzz target includes this file as it is. */
#ifndef FATHOM_TRACER_WALK_H
#define FATHOM_TRACER_WALK_H

#include "tracer/machine.h"
#include "tracer/stack_memory.h"
#include "tracer/state.h"

/* What is known of the step from a frame to its caller: a word. Bits 0-15 are these flags, bits 16-31 where
 * rbp was saved, from the CFA, which is the caller's sp. Bits 32-63: 1 + the number of the next rare frame
 * from here outwards, 0: none. */
#define STEP_USES_RBP 1   /* it needs rbp */
#define STEP_PASSES_RBP 2 /* rbp is the caller's too */
#define STEP_SAVES_RBP 4  /* the caller's rbp is read from where it was saved */
#define STEP_RARE 8       /* it reads other words than these two: to be done again */
#define STEP_NEEDS_RBP 16 /* this step, or a later one through this one, needs rbp */
#define STEP_CHECKED 32   /* this step, or a later one, gives a caller an rbp that is needed there */
#define STEP_END_FIXED 64 /* the walk ends here whatever is in memory */
#define STEP_HIGH(step) ((step) >> 32)
#define STEP_SAVED(step) ((s64)(s32)(u32)(step) >> 16)
#define MAKE_STEP(flags, saved) ((flags) | (u64)(u16)(saved) << 16)

/* The rule for a pc, remembered in a word that all threads share: what a search in the tables found would
 * else be found again by each of them, and by those that begin. Bits 0-2 are flags of the step, bits 3-9
 * and 10-21 how far below the CFA rbp is saved, and the CFA above rsp or rbp, in words; or with
 * RULE_NUMBERED bits 0-15 are the number of the rule. Above stand the epoch of the tables and the pc, but for
 * its bits that choose the word: what is left of them after an exclusive or with those that are looked for
 * belongs to another pc, or to tables that are gone. */
#define RULE_FLAGS (STEP_USES_RBP | STEP_PASSES_RBP | STEP_SAVES_RBP)
#define RULE_SAVED(rule) ((rule)&0x3f8)
#define RULE_CFA(rule) ((rule) >> 7 & 0x7ff8)
#define RULE_NUMBERED (1u << 22)
#define RULE_EPOCH_SHIFT 23
#define RULE_EPOCH_BITS 7
#define RULE_PC_SHIFT (RULE_EPOCH_SHIFT + RULE_EPOCH_BITS)
/* Rules are asked for below it only: of a pc with WALK_EXACT, or of garbage, bits would be lost. */
#define PC_END (1ull << 47)
_Static_assert(RULE_PC_SHIFT + 47 - RULES_LOG2 <= 64, "no bit of a pc is lost");
_Static_assert(UNWIND_MAX_RULES <= 1 << 16, "a remembered rule has 16 bits for its number");

/* A thread's walk in progress, seen from the functions that are seldom needed. */
struct walker {
  struct thread* thread;
  const struct tracer_shared* shared;
  const struct unwind_mapping* mappings;
  u32 mapping_count;
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
  if (!walker->thread->through_kernel ||
      !read_foreign_word(walker->thread->state, walker->thread, address, value))
    return WALK_READ_FAULT;
  return 0;
}

INLINE int step_read_u64(struct step_walk* w, u64 address, u64* value) {
  const struct walker* walker = walker_of(w);
  if (UNLIKELY(address < walker->thread->low || address > walker->thread->high))
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

/* What the step by `rule` from `sp` to `new_sp` read. */
INLINE u64 describe_step(const struct unwind_rule* rule, u64 sp, u64 new_sp) {
  u64 flags = rule->cfa == CFA_RBP ? STEP_USES_RBP : 0;
  if (rule->cfa != CFA_RSP && rule->cfa != CFA_RBP && rule->cfa != CFA_PLT) goto rare;
  if (rule->rbp == RBP_SAME) return flags | STEP_PASSES_RBP;
  if (rule->rbp == RBP_UNDEFINED) return flags;
  if (rule->rbp != RBP_AT_CFA || rule->rbp_offset != (s16)rule->rbp_offset) goto rare;
  if (new_sp + (u64)(s64)rule->rbp_offset < sp)
    return flags | STEP_PASSES_RBP; /* popped already: step_by_rule keeps rbp */
  return MAKE_STEP(flags | STEP_SAVES_RBP, rule->rbp_offset);
rare:
  return STEP_RARE | STEP_USES_RBP;
}

INLINE u64* rule_place(u64* rules, u64 pc) {
  return &rules[pc & ((1 << RULES_LOG2) - 1)];
}

/* What stands above the rule of this pc, which is below PC_END. */
INLINE u64 rule_tag(u64 pc, u64 epoch) {
  return (pc >> RULES_LOG2 << RULE_PC_SHIFT) ^ epoch;
}

/* The rule as take_simple_step wants it: it reads the return address and at most a saved rbp below it. Else
 * its number. Where no rbp is saved, its place is that of the return address, which can be read as well. */
INLINE u64 rule_to_remember(const struct unwind_rule* rule, u32 number) {
  u64 flags = rule->cfa == CFA_RBP ? STEP_USES_RBP : 0;
  const s64 cfa = rule->cfa_offset;
  s64 saved = -(s64)rule->rbp_offset;
  if ((rule->cfa != CFA_RBP && rule->cfa != CFA_RSP) || cfa < 0 || RULE_CFA((u64)cfa << 7) != (u64)cfa)
    goto numbered;
  if (rule->rbp == RBP_SAME || (rule->rbp == RBP_AT_CFA && rule->cfa == CFA_RSP && cfa < saved)) {
    flags |= STEP_PASSES_RBP; /* or popped already */
    saved = 8;
  } else if (rule->rbp == RBP_AT_CFA && saved >= 16 && RULE_SAVED((u64)saved) == (u64)saved) {
    flags |= STEP_SAVES_RBP;
  } else {
    goto numbered;
  }
  return flags | (u64)saved | (u64)cfa << 7;
numbered:
  return RULE_NUMBERED | number;
}

/* A step of any kind, and its rule remembered. Returns as step_once does. */
static NO_INLINE int take_step(struct thread* t, struct position* at, u64* step) {
  const struct tracer_shared* shared = t->shared;
  struct walker walker = {.thread = t, .shared = shared};
  u64* const place = rule_place(t->rules, at->pc);
  const u64 tag = rule_tag(at->pc, t->rule_epoch);
  const u64 known = at->pc < PC_END ? load_relaxed(place) ^ tag : ~0ull;
  const struct unwind_rule* rule = 0;
  const u64 sp = at->sp, run = load_acquire(&shared->mapping_run);
  struct step_walk w = {.pc = at->pc & ~WALK_EXACT, .sp = sp, .fp = at->fp};
  int end;
  walker.mappings = (const struct unwind_mapping*)((u64)shared + shared->mappings_offset) + (u32)run;
  walker.mapping_count = (u32)(run >> 32);
  if (UNLIKELY((run & 0xffffffff) + (run >> 32) > shared->mappings_count)) walker.mapping_count = 0;
  w.exact = (u32)(at->pc >> 63);
  w.env = (u64)&walker;
  w.mapping_count = walker.mapping_count;
  if (known >> RULE_EPOCH_SHIFT == 0 && (known & RULE_NUMBERED)) rule = step_rule(&w, (u16)known);
  if (!rule) {
    if (step_find_rule(&w, &rule)) {
      end = step_once(&w);
      *step = end == WALK_NO_MAPPING ? STEP_END_FIXED : STEP_RARE | STEP_USES_RBP;
      if (end) return end;
      goto stepped;
    }
    if (at->pc < PC_END) store_relaxed(place, tag | rule_to_remember(rule, (u32)(rule - step_rule(&w, 0))));
  }
  end = step_by_rule(&w, rule);
  if (end) {
    *step = rule->cfa == CFA_END ? STEP_END_FIXED : STEP_RARE | STEP_USES_RBP;
    return end;
  }
  *step = describe_step(rule, sp, w.sp);
stepped:
  at->pc = w.pc | (u64)w.exact << 63;
  at->sp = w.sp;
  at->fp = w.fp;
  return 0;
}

/* What simple steps of one walk have in common. */
struct simple_steps {
  u64* rules;
  u64 rule_epoch, low;
  const struct frame* no_guess; /* what lies beyond it is the caller of no frame */
};

INLINE struct simple_steps simple_steps_of(const struct thread* t) {
  return (struct simple_steps){t->rules, t->rule_epoch, t->low, t->frames};
}

/* The step that nearly all are: by a remembered rule from rsp or rbp, with everything between sp and the end
 * of the stack: words start in the `room` bytes from `low` on. 0: it is another one.
 *
 * The step after this one could only begin when rsp or rbp has come through this one: loads that wait for
 * each other, some 5 ns each. But mostly the caller's sp is what it was in the walk before. So it is taken
 * from there if the true one is the same, a branch that the processor need not wait for, and then waits for
 * nothing. */
INLINE int take_simple_step(const struct simple_steps* steps, u64 room, const struct frame** guess,
                            struct position* at, u64* step) {
  const u64 rule = load_relaxed(rule_place(steps->rules, at->pc)) ^ rule_tag(at->pc, steps->rule_epoch);
  const u64 guessed = (*guess)[-1].sp;
  u64 cfa, lowest, ra, saved;
  if (UNLIKELY(rule >= RULE_NUMBERED)) return 0;
  cfa = (rule & STEP_USES_RBP ? at->fp : at->sp) + RULE_CFA(rule);
  if (LIKELY(cfa == guessed)) {
    __asm__("" : "=r"(cfa) : "0"(guessed)); /* or the compiler sees that they are equal */
    --*guess;
  } else {
    *guess = steps->no_guess;
  }
  lowest = cfa - RULE_SAVED(rule);
  if (UNLIKELY(cfa - 8 - steps->low >= room || lowest < at->sp)) return 0;
  ra = *(const volatile u64*)(cfa - 8);
  saved = *(const volatile u64*)lowest;
  if (UNLIKELY(ra - 1 >= PC_END - 1)) return 0;
  *step = MAKE_STEP(rule & RULE_FLAGS, -(s64)RULE_SAVED(rule));
  at->fp = rule & STEP_SAVES_RBP ? saved : at->fp;
  at->pc = ra;
  at->sp = cfa;
  return 1;
}

/* Does the frame's pc stand where it stood? And, where `more` is given, the rbp that its step gives the
 * caller? */
INLINE int is_unchanged(const struct frame* frame, const struct frame_more* more) {
  return *(const volatile u64*)(frame->sp - 8) == frame->pc &&
         (!more || *(const volatile u64*)more->rbp_saved == more->rbp);
}

/* Do four? Else the first that does not is returned from the function around. */
#define RETURN_FIRST_CHANGED(from, more)                                       \
  do {                                                                         \
    if (!is_unchanged(&(from)[0], (more))) return &(from)[0];                  \
    if (!is_unchanged(&(from)[1], (more) ? (more) + 1 : 0)) return &(from)[1]; \
    if (!is_unchanged(&(from)[2], (more) ? (more) + 2 : 0)) return &(from)[2]; \
    if (!is_unchanged(&(from)[3], (more) ? (more) + 3 : 0)) return &(from)[3]; \
  } while (0)

/* The first of the frames [from, to), the root first, that has changed, or `to`. Most of a deep walk is here:
 * four at a time, some of the first four twice, so that the processor guesses wrong where it ends only if
 * that number changes. */
INLINE struct frame* skip_unchanged(struct frame* from, struct frame* to, const struct frame_more* more) {
  if (LIKELY(to - from >= 4)) {
    const u64 twice = (u64)(to - from - 1) % 4 + 1;
    RETURN_FIRST_CHANGED(from, more);
    from += twice;
    if (more) more += twice;
    for (; from < to; from += 4) {
      RETURN_FIRST_CHANGED(from, more);
      if (more) more += 4;
    }
    return to;
  }
  for (; from < to && is_unchanged(from, more); from++)
    if (more) more++;
  return from;
}

/* The same from the root on where from number `checked` - 1 on rbp is to be looked at. */
static NO_INLINE struct frame* skip_unchanged_with_rbp(struct thread* t, struct frame* to) {
  struct frame* from = &t->frames[t->checked - 1];
  struct frame* unchanged = skip_unchanged(t->frames, from < to ? from : to, 0);
  return unchanged == from ? skip_unchanged(from, to, &t->more[t->checked - 1]) : unchanged;
}

/* Do the rare ones of the unchanged frames from number `at` on still lead to their callers, and to the same
 * end? -1: they do, else the first whose step leads elsewhere now. rbp is as it was in `at` if that frame
 * needs it, and in each further one that does; in the others it is not known and not asked for. */
static NO_INLINE int check_rare_frames(struct thread* t, int at) {
  const struct frame* frames = t->frames;
  const struct frame_more* more = t->more;
  for (u64 next = STEP_HIGH(more[at].step); next; next = STEP_HIGH(more[next - 2].step)) {
    const u64 i = next - 1;
    struct position position = {frames[i].pc, frames[i].sp, more[i].fp};
    u64 step;
    int end = take_step(t, &position, &step);
    if (i == 0) return (u32)end == t->end ? -1 : 0;
    if (end || position.pc != frames[i - 1].pc || position.sp != frames[i - 1].sp ||
        ((more[i - 1].step & STEP_NEEDS_RBP) && position.fp != more[i - 1].fp))
      return (int)i;
  }
  return -1;
}

/* The tables have changed, or the thread has begun: what was remembered of them is void. The rules name their
 * epoch, by its low bits; they are wiped so that no other epoch of the same bits finds them. */
static NO_INLINE void forget_rules(struct state* s, const struct tracer_shared* shared, struct thread* t,
                                   u32 epoch) {
  t->state = s;
  t->shared = shared;
  t->rules = s->rules;
  t->rule_epoch = (u64)(epoch & ((1 << RULE_EPOCH_BITS) - 1)) << RULE_EPOCH_SHIFT;
  if (load_relaxed(&s->rules_epoch) != epoch) {
    store_relaxed(&s->rules_epoch, epoch);
    for (int i = 0; i < 1 << RULES_LOG2; i++) store_relaxed(&s->rules[i], 0);
  }
  t->no_frame.sp = ~0ull;
  t->frame_count = 0;
  t->table_epoch = epoch;
}

/* The thread is on a stack that is not known yet. */
static NO_INLINE u64 begin_walk_elsewhere(struct state* s, const struct tracer_shared* shared,
                                          const struct slot* slot, struct thread* t, u64 sp) {
  t->through_kernel = 0;
  if (find_own_stack(s, shared, slot, sp)) {
    t->high = t->stack_high - 8;
    return t->stack_high - 7 - sp;
  }
  t->low = ~0ull;
  t->high = 0;
  t->through_kernel = shared->may_call_kernel;
  t->window_bytes = 0;
  t->frame_count = 0; /* other memory than that of the walk before, and read at a price */
  return 0;
}

/* Gets the thread ready for a walk from `sp` on; the room of simple steps. */
INLINE u64 begin_walk(struct state* s, const struct tracer_shared* shared, const struct slot* slot,
                      struct thread* t, u64 sp) {
  u32 epoch = load_acquire(&shared->table_epoch);
  if (UNLIKELY(t->table_epoch != epoch)) forget_rules(s, shared, t, epoch);
  t->low = sp;
  t->high = t->stack_high - 8;
  t->through_kernel = 0;
  if (UNLIKELY(sp < t->stack_low || sp >= t->stack_high)) return begin_walk_elsewhere(s, shared, slot, t, sp);
  return t->stack_high - 7 - sp;
}

/* The room of simple steps from `at` on: none are possible from where a signal frame, say, may have led to,
 * or for a pc that no rule is remembered for. */
INLINE u64 simple_room(const struct thread* t, const struct position* at) {
  return at->sp >= t->low && at->sp <= t->high && at->pc < PC_END ? t->high + 1 - t->low : 0;
}

/* The first TRACER_MAX_FRAMES frames into t->fresh, by the tables alone. */
static NO_INLINE int walk_deep_stack(struct thread* t, struct position at) {
  const struct frame* guess = t->frames;
  const struct simple_steps steps = simple_steps_of(t);
  u64 room = simple_room(t, &at), step;
  for (int i = 0; i < TRACER_MAX_FRAMES; i++) {
    int end;
    t->fresh[i].pc = at.pc;
    if (take_simple_step(&steps, room, &guess, &at, &step)) continue;
    end = take_step(t, &at, &step);
    if (end) return end; /* cannot be: it was deeper a moment ago */
    room = simple_room(t, &at);
  }
  return WALK_DEPTH_LIMIT;
}

/* How many frames the next walk may build on, which asks the stack below each for its pc: only as far out as
 * steps that read it there lead. A signal frame's pc and sp stand elsewhere. */
static NO_INLINE u32 count_lasting(const struct frame* frames, u32 count) {
  u32 lasting = 0;
  while (lasting < count && !(frames[lasting].pc & WALK_EXACT)) lasting++;
  return lasting;
}

#define NOT_KEPT 1 /* the next walk builds on nothing of this one */
#define WILD 2     /* it went through a signal frame */

/* Walks from the caller of a hook (pc a return address). The frames are left in t->frames, root first,
 * t->walked_count of them, and how it ended in t->end. Returns 1 if they are those of the walk before. */
INLINE int walk_stack(struct thread* t, u64 room, u64 pc, u64 sp, u64 fp) {
  struct frame* const frames = t->frames;
  struct frame_more* more = t->more;
  struct fresh_frame* fresh = t->fresh;
  struct position at = {pc, sp, fp};
  const struct simple_steps steps = simple_steps_of(t);
  u64 hash, inherited = 0, rare = 0;
  /* the innermost that may be met; frames[-1] lies above all */
  struct frame* top = frames + t->frame_count - 1;
  const struct frame* guess;
  int end = 0, odd = 0, compared = 0;
  u32 count;

  while (top->sp < sp) top--;
  guess = top->sp == sp ? top : frames;
  for (;;) {
    if (top->sp <= at.sp) {
      while (top->sp < at.sp) top--;
      if (top->sp == at.sp && top->pc == at.pc) {
        u64 step;
        if (!compared) { /* the frames beyond are on this stack, so it can be read where they are */
          top = (UNLIKELY(t->checked) ? skip_unchanged_with_rbp(t, top + 1)
                                      : skip_unchanged(frames, top + 1, 0)) -
                1;
          compared = 1;
        }
        step = more[top - frames].step;
        if (top->sp == at.sp && (!(step & STEP_NEEDS_RBP) || more[top - frames].fp == at.fp)) {
          int differs;
          if (LIKELY(!STEP_HIGH(step))) break;
          differs = check_rare_frames(t, (int)(top - frames));
          if (differs < 0) break;
          /* only what lies beyond may be met; up to there by the tables, for the true rbp */
          top = frames + differs - 1;
        }
      }
    }
    if (UNLIKELY(fresh == t->fresh + TRACER_MAX_FRAMES)) goto deep;
    fresh->pc = at.pc;
    fresh->sp = at.sp;
    fresh->fp = at.fp;
    if (UNLIKELY(!take_simple_step(&steps, room, &guess, &at, &fresh->step))) {
      struct position away = at;
      end = take_step(t, &away, &fresh->step);
      if (!end &&
          away.sp <= at.sp) { /* from a signal handler's stack to another one: no order to find frames by */
        odd |= NOT_KEPT;
        top = frames - 1;
      }
      if (away.pc & WALK_EXACT) odd |= WILD;
      room = simple_room(t, &away);
      at = away;
      if (UNLIKELY(end)) {
        fresh++;
        top = frames - 1;
        break;
      }
    }
    fresh++;
  }
  if (UNLIKELY(t->through_kernel)) odd = NOT_KEPT;
  if (end == 0) end = (int)t->end;
  count = (u32)(top + 1 - frames);
  if (fresh == t->fresh && count == t->walked_count) return 1;
  if (UNLIKELY(count + (u32)(fresh - t->fresh) > TRACER_MAX_FRAMES)) {
  deep:
    end = walk_deep_stack(t, (struct position){pc, sp, fp});
    count = 0;
    fresh = t->fresh + TRACER_MAX_FRAMES;
    odd = NOT_KEPT;
  }

  t->number = 0;
  t->frame_count = count; /* as good as any moment for a signal handler to leave for good */
  signal_fence();
  hash = (u64)end;
  if (count) {
    hash = more[count - 1].hash;
    inherited = more[count - 1].step & (STEP_NEEDS_RBP | STEP_CHECKED);
    rare = STEP_HIGH(more[count - 1].step) << 32;
  }
  more += count;
  for (struct frame* frame = &frames[count]; fresh != t->fresh; frame++, more++) {
    u64 step;
    fresh--;
    step = (u32)fresh->step;
    hash = hash_frame(hash, fresh->pc);
    frame->pc = fresh->pc;
    frame->sp = fresh->sp;
    more->hash = hash;
    if (UNLIKELY(inherited | (step & (STEP_USES_RBP | STEP_RARE)))) {
      u64 needs = inherited & STEP_NEEDS_RBP;
      more->rbp_saved = &more->rbp;
      if (needs && (step & STEP_SAVES_RBP)) {
        more->rbp_saved = (u64*)(frame[-1].sp + (u64)STEP_SAVED(step));
        more->rbp = more[-1].fp;
        if (!(inherited & STEP_CHECKED)) t->checked = (u32)(frame - frames) + 1;
        inherited |= STEP_CHECKED;
      }
      if (step & STEP_RARE) rare = ((u64)(frame - frames) + 1) << 32;
      needs = (step & STEP_USES_RBP) || ((step & STEP_PASSES_RBP) && needs) ? STEP_NEEDS_RBP : 0;
      inherited = (inherited & STEP_CHECKED) | needs;
      step |= inherited;
      more->fp = fresh->fp;
    }
    more->step = step | rare;
    count++;
  }
  t->walked_count = count;
  t->frame_count = LIKELY(!odd) ? count : odd & NOT_KEPT ? 0 : count_lasting(frames, count);
  if (!(inherited & STEP_CHECKED)) t->checked = 0;
  t->end = (u32)end;
  return 0;
}

#endif
