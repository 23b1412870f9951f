/* Walking the stack of this thread, from tables, and not more of it than has changed since the walk before.
 *
 * A walk goes from the leaf towards the root with the tables until it meets a frame of the walk before: same
 * pc, same sp, and same fp if a frame further out depends on it. What a step gives depends on nothing but
 * these, the tables, and the words of memory that the step reads: the return address and mostly at most one
 * saved fp. So from there on it is enough to compare these words with what they were, without following the
 * one to find the other, and a saved fp only where it is needed further out. They are compared from the root
 * inwards, once: where the first differs, the tables lead there, and a frame beyond is met. This is exact and
 * no guess: the result equals that of a full walk. Nothing is read where no frame was met: the memory that
 * the walk before was on may be gone.
 *
 * The fuzz target includes this file as it is. */
#ifndef FATHOM_TRACER_WALK_H
#define FATHOM_TRACER_WALK_H

#include "attach/tracer/rules.h"

/* Does the frame's pc stand where it stood? And, where `more` is given, the fp that its step gives the
 * caller? */
INLINE int is_unchanged(const struct frame* frame, const struct frame_more* more) {
  return *(const volatile u64*)(frame->sp - 8) == frame->pc &&
         (!more || *(const volatile u64*)more->fp_saved == more->callers_fp);
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

/* The same from the root on where from number `checked` - 1 on fp is to be looked at. */
static NO_INLINE struct frame* skip_unchanged_with_fp(struct thread* t, struct frame* to) {
  struct frame* from = &t->frames[t->checked - 1];
  struct frame* unchanged = skip_unchanged(t->frames, from < to ? from : to, 0);
  return unchanged == from ? skip_unchanged(from, to, &t->more[t->checked - 1]) : unchanged;
}

/* The known facts about the step from a frame that is kept. */
INLINE u64 step_of(const struct thread* t, u64 frame) {
  return frame < t->plain ? 0 : t->more[frame].step;
}

/* Do the rare ones of the unchanged frames from number `at` on still lead to their callers, and to the same
 * end? -1: they do, else the first whose step leads elsewhere now. fp is as it was in `at` if that frame
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
        ((step_of(t, i - 1) & STEP_NEEDS_FP) && position.fp != more[i - 1].fp))
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
    return t->stack_high;
  }
  t->low = ~0ull;
  t->high = 0;
  t->through_kernel = shared->may_call_kernel;
  t->window_bytes = 0;
  t->frame_count = 0; /* other memory than that of the walk before, and read at a price */
  return 0;
}

/* Gets the thread ready for a walk from `sp` on; the highest CFA that simple steps may lead to. */
INLINE u64 begin_walk(struct state* s, const struct tracer_shared* shared, const struct slot* slot,
                      struct thread* t, u64 sp) {
  u32 epoch = load_acquire(&shared->table_epoch);
  if (UNLIKELY(t->table_epoch != epoch)) forget_rules(s, shared, t, epoch);
  t->low = sp;
  t->high = t->stack_high - 8;
  t->through_kernel = 0;
  if (UNLIKELY(sp < t->stack_low || sp >= t->stack_high)) return begin_walk_elsewhere(s, shared, slot, t, sp);
  return t->stack_high;
}

/* The same from `at` on: none are possible from where a signal frame, say, may have led to, or for a pc that
 * no rule is remembered for. */
INLINE u64 highest_cfa(const struct thread* t, const struct position* at) {
  return at->sp >= t->low && at->sp <= t->high && at->pc < PC_END ? t->high + 8 : 0;
}

/* The first TRACER_MAX_FRAMES frames into t->fresh, by the tables alone. */
static NO_INLINE int walk_deep_stack(struct thread* t, struct position at) {
  u64 highest = highest_cfa(t, &at);
  for (int i = 0; i < TRACER_MAX_FRAMES; i++) {
    u64 rule, cfa, ra, step;
    int end;
    t->fresh[i].pc = at.pc;
    if (highest) {
      rule = remembered_rule(t->rules, t->rule_epoch, at.pc);
      cfa = rule & STEP_USES_FP ? cfa_of_fp(rule, at.sp, at.fp) : at.sp + RULE_CFA(rule);
      if (rule < RULE_NUMBERED && cfa && cfa <= highest) {
        ra = *(const volatile u64*)(cfa - 8);
        if (ra - 1 < PC_END - 1) {
          if (rule & STEP_SAVES_FP) at.fp = *(const volatile u64*)(cfa - RULE_SAVED(rule));
          at.pc = ra;
          at.sp = cfa;
          continue;
        }
      }
    }
    end = take_step(t, &at, &step);
    if (end) return end; /* cannot be: it was deeper a moment ago */
    highest = highest_cfa(t, &at);
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

/* fp in the frames of a walk in progress: hardly any step asks for it, so it is followed only up to where
 * one does. */
struct followed_fp {
  struct fresh_frame* frame; /* the first whose fp is not set */
  u64 fp;                    /* in that frame */
};

/* Sets fp up to the frame `to`, whose sp is set, and gives that. */
INLINE u64 follow_fp(struct followed_fp* followed, struct fresh_frame* to) {
  for (; followed->frame != to; followed->frame++) {
    const u64 rule = followed->frame->step;
    followed->frame->fp = followed->fp;
    if (rule & STEP_SAVES_FP) followed->fp = *(const volatile u64*)(followed->frame[1].sp - RULE_SAVED(rule));
  }
  to->fp = followed->fp;
  return followed->fp;
}

/* The hash of a stack from that of its frames but for the leaf. What depends on the hash before is two cycles
 * long, as a walk has several frames to add one after the other. */
INLINE u64 hash_frame(u64 hash, u64 pc) {
  const u64 mixed = pc * HASH_FACTOR;
  return hash * 5 + (mixed ^ mixed >> 32);
}

#define NOT_KEPT 1 /* the next walk builds on nothing of this one */
#define WILD 2     /* it went through a signal frame */

/* What a walk has found: the `count` outermost frames of the walk before, and those in t->fresh up to
 * `fresh`, the leaf first. */
struct found {
  struct fresh_frame* fresh;
  u32 count;
  int end, odd;
};

/* Keeps what was found where no step needs anything but its own sp. */
INLINE void keep_plain(struct thread* t, const struct found* found) {
  const struct fresh_frame *fresh = found->fresh, *const leaf = t->fresh;
  struct frame* frame = &t->frames[found->count];
  u64* hashes = &t->hashes[found->count];
  u64 hash = found->count ? hashes[-1] : (u64)found->end;
  for (; fresh != leaf; frame++) {
    fresh--;
    hash = hash_frame(hash, fresh->pc);
    frame->pc = fresh->pc;
    frame->sp = fresh->sp;
    *hashes++ = hash;
  }
  t->walked_count = t->frame_count = t->plain = (u32)(frame - t->frames);
  t->checked = 0;
  t->end = (u32)found->end;
}

/* Keeps what was found of any kind; fp of the fresh frames is set. */
static NO_INLINE void keep_all(struct thread* t, const struct found* found) {
  struct frame* const frames = t->frames;
  const struct fresh_frame* fresh = found->fresh;
  u32 count = found->count, plain = t->plain;
  u64 hash = count ? t->hashes[count - 1] : (u64)found->end, step = count ? step_of(t, count - 1) : 0;
  u64 inherited = step & (STEP_NEEDS_FP | STEP_CHECKED), rare = STEP_HIGH(step) << 32;
  if (plain > count) plain = count;
  for (; fresh != t->fresh; count++) {
    struct frame* frame = &frames[count];
    struct frame_more* more = &t->more[count];
    fresh--;
    step = fresh->step & STEP_DESCRIBED ? fresh->step & ~STEP_DESCRIBED : step_by(fresh->step);
    hash = hash_frame(hash, fresh->pc);
    frame->pc = fresh->pc;
    frame->sp = fresh->sp;
    t->hashes[count] = hash;
    if (inherited | rare | (step & (STEP_USES_FP | STEP_RARE))) {
      u64 needs = inherited & STEP_NEEDS_FP;
      more->fp_saved = &more->callers_fp;
      if (needs && (step & STEP_SAVES_FP)) {
        more->fp_saved = (u64*)(frame[-1].sp + (u64)STEP_SAVED(step));
        more->callers_fp = more[-1].fp;
        if (!(inherited & STEP_CHECKED)) t->checked = count + 1;
        inherited |= STEP_CHECKED;
      }
      if (step & STEP_RARE) rare = ((u64)count + 1) << 32;
      needs = (step & STEP_USES_FP) || ((step & STEP_PASSES_FP) && needs) ? STEP_NEEDS_FP : 0;
      inherited = (inherited & STEP_CHECKED) | needs;
      step |= inherited;
      more->fp = fresh->fp;
    } else if (plain == count) {
      plain = count + 1;
    }
    more->step = step | rare;
  }
  t->plain = plain;
  t->walked_count = count;
  t->frame_count = !found->odd ? count : found->odd & NOT_KEPT ? 0 : count_lasting(frames, count);
  if (!(inherited & STEP_CHECKED)) t->checked = 0;
  t->end = (u32)found->end;
}

/* Walks from the caller of a hook (pc a return address). The frames are left in t->frames, root first,
 * t->walked_count of them, and how it ended in t->end. Returns 1 if they are those of the walk before.
 *
 * A step could only begin when the one before it has read where its frame ends: loads that wait for each
 * other, some 5 ns each. But mostly the caller's sp is that of the next frame of the walk before. So it is
 * taken from there if the true one is the same, a branch that the processor need not wait for, and then waits
 * for nothing. */
INLINE int walk_stack(struct thread* t, u64 highest, u64 pc, u64 sp, u64 fp) {
  struct frame* const frames = t->frames;
  struct fresh_frame *fresh = t->fresh, *const last = t->fresh + TRACER_MAX_FRAMES;
  u64* const rules = t->rules;
  const u64 epoch = t->rule_epoch, leaf_pc = pc, leaf_sp = sp;
  struct followed_fp followed = {fresh, fp};
  struct found found;
  /* the innermost frame of the walk before that may still be met; frames[-1] lies above all */
  struct frame* next = frames + t->frame_count - 1;
  int end = 0, odd = 0, compared = 0, special = 0;

  while (next->sp < sp) next--;
  if (next->sp == sp && (next--)->pc == pc) goto met;
  for (;;) { /* here sp < next->sp */
    u64 rule, cfa, ra;
    if (UNLIKELY(fresh == last)) goto deep;
    fresh->pc = pc;
    fresh->sp = sp;
    rule = remembered_rule(rules, epoch, pc);
    if (UNLIKELY(rule >= RULE_NUMBERED)) goto other;
    cfa = sp + RULE_CFA(rule);
    if (UNLIKELY(rule & STEP_USES_FP)) {
      special = 1;
      cfa = cfa_of_fp(rule, sp, follow_fp(&followed, fresh));
      if (!cfa) goto other;
    }
    if (UNLIKELY(cfa > highest)) goto other;
    ra = *(const volatile u64*)(cfa - 8);
    if (UNLIKELY(ra - 1 >= PC_END - 1)) goto other;
    fresh->step = rule;
    fresh++;
    pc = ra;
    if (LIKELY(cfa == next->sp)) {
      sp = next->sp;
      __asm__("" : "=r"(cfa) : "0"(sp)); /* or the compiler sees that they are equal */
      sp = cfa;
    } else {
      sp = cfa;
    arrived:
      while (next->sp < sp) next--;
      if (next->sp != sp || next < frames) continue;
    }
    if (LIKELY((next--)->pc != pc)) continue;

  met : {
    struct frame* const frame = next + 1;
    u64 step;
    int differs;
    if (!compared) { /* the frames beyond are on this stack, so it can be read where they are */
      next = (UNLIKELY(t->checked) ? skip_unchanged_with_fp(t, frame + 1)
                                   : skip_unchanged(frames, frame + 1, 0)) -
             1;
      compared = 1;
      if (next != frame) continue;
      next--;
    }
    if (LIKELY(frame < frames + t->plain)) break;
    step = t->more[frame - frames].step;
    if (step & STEP_NEEDS_FP) {
      fresh->sp = sp;
      if (follow_fp(&followed, fresh) != t->more[frame - frames].fp) continue;
    }
    if (!STEP_HIGH(step)) break;
    differs = check_rare_frames(t, (int)(frame - frames));
    if (differs < 0) break;
    /* only what lies beyond may be met; up to there by the tables, for the true fp */
    next = frames + differs - 1;
    continue;
  }

  other : {
    struct position away = {pc, sp, follow_fp(&followed, fresh)};
    end = take_step(t, &away, &fresh->step);
    if (fresh->step & (STEP_USES_FP | STEP_RARE)) special = 1;
    fresh->step |= STEP_DESCRIBED;
    fresh++;
    followed = (struct followed_fp){fresh, away.fp};
    if (UNLIKELY(end)) {
      next = frames - 2;
      break;
    }
    if (away.sp <= sp) { /* from a signal handler's stack to another one: no order to find frames by */
      odd |= NOT_KEPT;
      next = frames - 1;
    }
    if (away.pc & WALK_EXACT) odd |= WILD;
    highest = highest_cfa(t, &away);
    pc = away.pc;
    sp = away.sp;
    goto arrived;
  }
  }
  if (UNLIKELY(t->through_kernel)) odd = NOT_KEPT;
  found = (struct found){fresh, (u32)(next + 2 - frames), end ? end : (int)t->end, odd};
  if (fresh == t->fresh && found.count == t->walked_count) return 1;
  if (UNLIKELY(found.count + (u32)(fresh - t->fresh) > TRACER_MAX_FRAMES)) {
  deep:
    end = walk_deep_stack(t, (struct position){leaf_pc, leaf_sp, fp});
    found = (struct found){last, 0, end, NOT_KEPT};
  }
  t->number = 0;
  t->frame_count = found.count; /* a signal handler may leave permanently at this moment, too */
  signal_fence();
  if (LIKELY(!(special | found.odd) && found.count <= t->plain)) {
    keep_plain(t, &found);
  } else {
    if (found.count + (u32)(fresh - t->fresh) <= TRACER_MAX_FRAMES) {
      fresh->sp = sp;
      follow_fp(&followed, fresh);
    }
    keep_all(t, &found);
  }
  return 0;
}

#endif
