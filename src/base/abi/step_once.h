/* One whole unwinding step: the rule is looked up, and the processor's part of it is done. The last lines of every
 * base/arch/step.h include this. */
#ifndef FATHOM_ABI_STEP_ONCE_H
#define FATHOM_ABI_STEP_ONCE_H

/* From the frame in `w` to its caller. 0, or how the walk ended; then `w` still holds the last frame. */
STEP_FN int step_once(struct step_walk* w) {
  const struct unwind_rule* rule = 0;
  int found;
  if (!w) return WALK_NO_RULE;
  found = step_find_rule(w, &rule);
  if (found == 0) return step_by_rule(w, rule);
  if (found == STEP_NO_TABLE) return step_without_rule(w, 1);
  if (found == STEP_NO_RULE) return step_without_rule(w, 0);
  /* A call through a wild pointer: what called it is still on top of the stack. */
  if (found == WALK_NO_MAPPING && w->first && step_leaf(w) == 0) {
    w->exact = 0;
    w->first = 0;
    w->wild = 1;
    return 0;
  }
  return found;
}

#endif
