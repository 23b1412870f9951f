/* No processor's unwinding step: every walk ends at its first frame. What the includer defines:
 * base/abi/step_tables.h. */
#ifndef FATHOM_ARCH_STEP_H
#define FATHOM_ARCH_STEP_H

#include "base/abi/step_tables.h"

STEP_FN int step_leaf(struct step_walk* w) {
  (void)w;
  (void)step_read_u64; /* every includer has these */
  (void)step_read_code;
  (void)step_read_register;
  return WALK_NO_RULE;
}

STEP_FN int step_without_rule(struct step_walk* w, u32 made_at_run_time) {
  (void)w;
  (void)made_at_run_time;
  return WALK_UNSUPPORTED;
}

STEP_INLINE int step_by_rule(struct step_walk* w, const struct unwind_rule* rule) {
  (void)w;
  (void)rule;
  return WALK_UNSUPPORTED;
}

#include "base/abi/step_once.h"

#endif
