/* One step of a walk: from a frame to its caller, by the tables, and what is remembered of that. */
#ifndef FATHOM_TRACER_RULES_H
#define FATHOM_TRACER_RULES_H

#include "attach/tracer/machine.h"
#include "attach/tracer/stack_memory.h"
#include "attach/tracer/state.h"

/* The known facts about the step from a frame to its caller: a word. Bits 0-15 are these flags, bits 16-31 where
 * fp was saved, from the CFA, which is the caller's sp. Bits 32-63: 1 + the number of the next rare frame
 * from here outwards, 0: none. */
#define STEP_USES_FP 1    /* it needs fp */
#define STEP_PASSES_FP 2  /* fp is the caller's too */
#define STEP_SAVES_FP 4   /* the caller's fp is read from where it was saved */
#define STEP_RARE 8       /* it reads other words than these two: to be done again */
#define STEP_NEEDS_FP 16  /* this step, or a later one through this one, needs fp */
#define STEP_CHECKED 32   /* this step, or a later one, gives a caller an fp that is needed there */
#define STEP_END_FIXED 64 /* the walk always ends here */
#define STEP_HIGH(step) ((step) >> 32)
#define STEP_SAVED(step) ((s64)(s32)(u32)(step) >> 16)
#define MAKE_STEP(flags, saved) ((flags) | (u64)(u16)(saved) << 16)
#define STEP_DESCRIBED (1ull << 63) /* of a walk in progress: this is such a word, and no rule */

/* The rule for a pc, remembered in a word that all threads share: what a search in the tables found would
 * else be found again by each of them, and by those that begin. Bits 0-2 are flags of the step, bits 3-14 how
 * far the CFA is above sp or fp, and 15-21 how far below the CFA fp is saved, in words; or with
 * RULE_NUMBERED bits 0-15 are the number of the rule. Above stand the epoch of the tables and the pc, but for
 * its bits that choose the word: what is left of them after an exclusive or with those that are looked for
 * belongs to another pc, or to tables that are gone. */
#define RULE_FLAGS (STEP_USES_FP | STEP_PASSES_FP | STEP_SAVES_FP)
#define RULE_CFA(rule) ((rule)&0x7ff8)
#define RULE_SAVED(rule) ((rule) >> 12 & 0x3f8)
#define MAKE_RULE(flags, cfa, saved) ((flags) | (cfa) | (saved) << 12)
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
INLINE const unwind_row* step_row(struct step_walk* w, u32 row);
INLINE const struct unwind_rule* step_rule(struct step_walk* w, u32 rule);

#include "base/arch/step.h"

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

INLINE const unwind_row* step_row(struct step_walk* w, u32 row) {
  const struct tracer_shared* shared = walker_of(w)->shared;
  return row < shared->rows_count ? (const unwind_row*)((u64)shared + shared->rows_offset) + row : 0;
}

INLINE const struct unwind_rule* step_rule(struct step_walk* w, u32 rule) {
  const struct tracer_shared* shared = walker_of(w)->shared;
  return rule < shared->rules_count ? &((const struct unwind_rule*)((u64)shared + shared->rules_offset))[rule]
                                    : 0;
}

/* Where a walk stands. */
struct position {
  u64 pc; /* with WALK_EXACT */
  u64 sp, fp;
};

/* What the step by `rule` from `sp` to `new_sp` read. */
INLINE u64 describe_step(const struct unwind_rule* rule, u64 sp, u64 new_sp) {
  u64 flags = rule->cfa == CFA_FP ? STEP_USES_FP : 0;
  if (rule->cfa != CFA_SP && rule->cfa != CFA_FP && rule->cfa != CFA_PLT) goto rare;
  if (rule->fp == FP_SAME) return flags | STEP_PASSES_FP;
  if (rule->fp == FP_UNDEFINED) return flags;
  if (rule->fp != FP_AT_CFA || rule->fp_offset != (s16)rule->fp_offset) goto rare;
  if (new_sp + (u64)(s64)rule->fp_offset < sp)
    return flags | STEP_PASSES_FP; /* popped already: step_by_rule keeps fp */
  return MAKE_STEP(flags | STEP_SAVES_FP, rule->fp_offset);
rare:
  return STEP_RARE | STEP_USES_FP;
}

INLINE u64* rule_place(u64* rules, u64 pc) {
  return &rules[pc & ((1 << RULES_LOG2) - 1)];
}

/* What stands above the rule of this pc, which is below PC_END. */
INLINE u64 rule_tag(u64 pc, u64 epoch) {
  return (pc >> RULES_LOG2 << RULE_PC_SHIFT) ^ epoch;
}

/* The rule as simple steps want it: it reads the return address and at most a saved fp below it, and if it
 * starts from sp, nothing below that. Else its number. */
INLINE u64 rule_to_remember(const struct unwind_rule* rule, u32 number) {
  u64 flags = rule->cfa == CFA_FP ? STEP_USES_FP : 0;
  const s64 cfa = rule->cfa_offset;
  s64 saved = -(s64)rule->fp_offset;
  if ((rule->cfa != CFA_FP && rule->cfa != CFA_SP) || cfa < 0 || RULE_CFA((u64)cfa) != (u64)cfa ||
      (rule->cfa == CFA_SP && cfa < 8))
    goto numbered;
  if (rule->fp == FP_SAME || (rule->fp == FP_AT_CFA && rule->cfa == CFA_SP && cfa < saved)) {
    flags |= STEP_PASSES_FP; /* or popped already */
    saved = 8;
  } else if (rule->fp == FP_AT_CFA && saved >= 16 && RULE_SAVED((u64)saved << 12) == (u64)saved) {
    flags |= STEP_SAVES_FP;
  } else {
    goto numbered;
  }
  return MAKE_RULE(flags, (u64)cfa, (u64)saved);
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
      *step = end == WALK_NO_MAPPING ? STEP_END_FIXED : STEP_RARE | STEP_USES_FP;
      if (end) return end;
      goto stepped;
    }
    if (at->pc < PC_END) store_relaxed(place, tag | rule_to_remember(rule, (u32)(rule - step_rule(&w, 0))));
  }
  end = step_by_rule(&w, rule);
  if (end) {
    *step = rule->cfa == CFA_END ? STEP_END_FIXED : STEP_RARE | STEP_USES_FP;
    return end;
  }
  *step = describe_step(rule, sp, w.sp);
stepped:
  at->pc = w.pc | (u64)w.exact << 63;
  at->sp = w.sp;
  at->fp = w.fp;
  return 0;
}

/* The rule that is remembered for the pc; RULE_NUMBERED and more: none, or not a simple one. */
INLINE u64 remembered_rule(u64* rules, u64 epoch, u64 pc) {
  return load_relaxed(rule_place(rules, pc)) ^ rule_tag(pc, epoch);
}

/* The step by a simple rule. */
INLINE u64 step_by(u64 rule) {
  return MAKE_STEP(rule & RULE_FLAGS, -(s64)RULE_SAVED(rule));
}

/* The CFA by a simple rule that starts from fp; 0 if what it reads does not lie between sp and the CFA. */
INLINE u64 cfa_of_fp(u64 rule, u64 sp, u64 fp) {
  const u64 cfa = fp + RULE_CFA(rule);
  return cfa > sp && cfa - RULE_SAVED(rule) >= sp ? cfa : 0;
}

#endif
