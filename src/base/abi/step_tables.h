/* What every unwinding step asks the tables: which mapping, which row, which rule. Plain C, the same source
 * for the BPF programs, the user-mode walker and the tracer, so that what fuzzers and differential tests see is
 * what runs in the kernel. The step itself depends on the processor: base/arch/step.h, which includers ask for.
 *
 * The includer defines, before the include:
 *   STEP_FN              storage of the functions: `static inline`, or global and never inlined for the BPF
 * verifier, which then verifies each of them once and not once per call and these accessors, where `w` is the
 * walk in progress: int step_read_u64(w, address, u64 *value)    stack memory; 0, or the enum walk_end that
 * says why not int step_read_code(w, address, u64 *value)   8 bytes of code; 0, or -1 when code cannot be
 * read here int step_read_register(w, number, u64 *value) DWARF register of the interrupted thread; 0, or -1
 *   const struct unwind_mapping *step_mapping(w, index)   0 .. mapping_count - 1, else NULL
 *   unwind_page step_page(w, page)               0 if there is none
 *   const unwind_row *step_row(w, row)           NULL if there is none
 *   const struct unwind_rule *step_rule(w, rule) NULL if there is none
 */
#ifndef FATHOM_ABI_STEP_TABLES_H
#define FATHOM_ABI_STEP_TABLES_H

#include "base/abi/unwind_table.h"
#include "base/abi/walk.h"

/* A walk in progress. Set pc, sp, fp, exact = 1, first = 1, the mappings and env; the rest is 0. */
struct step_walk {
  u64 pc, sp, fp;
  u64 env;           /* for the accessors of user mode */
  u64 mapping_first; /* for the accessors: where this process's mappings stand */
  u64 start, end;    /* the mapping that pc was last found in; empty at first */
  u64 bias, page_base;
  u32 first_page, page_count;
  u32 mapping_count;
  u32 mapping_index; /* of that mapping */
  u32 exact;         /* pc is an instruction pointer, no return address */
  u32 first;         /* the first frame: all registers are known */
  u32 resumed;       /* below a signal handler: the sampled registers are those of the handler */
  u32 wild;          /* the first frame is in no mapping that is known, and a caller was found nevertheless */
};

/* Parts of a step that are functions for the reader only. */
#define STEP_INLINE static inline __attribute__((always_inline))

/* Both searches choose their half with a mask and not with a branch: a branch would double the states of the
 * BPF verifier in every round, and the processor guesses it wrong every second time. The barrier keeps the
 * compiler from making one. */
#ifdef __clang__
#define STEP_KEEP_LOOP _Pragma("clang loop unroll(disable)")
#else
#define STEP_KEEP_LOOP
#endif
#define STEP_OPAQUE(x) __asm__ volatile("" : "+r"(x))

/* The mapping that holds the address, or -1. */
STEP_FN int step_find_mapping(struct step_walk* w, u64 address) {
  u32 low = 0, high; /* the last mapping that starts at or below the address is low - 1 at the end */
  const struct unwind_mapping* m;
  if (!w) return -1;
  high = w->mapping_count;
  STEP_KEEP_LOOP
  for (int i = 0; i < 16; i++) {
    u32 middle, below;
    u64 ahead;
    if (low >= high) break;
    middle = (low + high) >> 1;
    m = step_mapping(w, middle);
    if (!m) return -1;
    ahead = address - m->start;
    STEP_OPAQUE(ahead);
    below = (u32)((s64)ahead >> 63); /* all ones if the address lies below */
    STEP_OPAQUE(below);
    low += (middle + 1 - low) & ~below;
    high += (middle - high) & below;
  }
  if (low == 0) return -1;
  m = step_mapping(w, low - 1);
  return m && address >= m->start && address < m->end ? (int)(low - 1) : -1;
}

/* The last row in [low, high) that is not above the address, or the row before low: rows of the page before
 * reach into this one. The first row of every module holds CFA_NONE from the start of its first page on, so
 * this never leaves the module. */
STEP_FN u32 step_search_rows(struct step_walk* w, u32 low, u32 high, u32 address) {
  if (!w) return 0;
  address &= 0xffff;
  STEP_KEEP_LOOP
  for (int i = 0; i < 17; i++) {
    u32 middle, below, ahead;
    const unwind_row* r;
    if (low >= high) break;
    middle = (low + high) >> 1;
    r = step_row(w, middle);
    if (!r) break;
    ahead = address - UNWIND_ROW_ADDRESS(*r);
    STEP_OPAQUE(ahead);
    below = (u32)((s32)ahead >> 31);
    STEP_OPAQUE(below);
    low += (middle + 1 - low) & ~below;
    high += (middle - high) & below;
  }
  return low - 1;
}

/* What step_find_rule returns instead of a rule, in addition to the ends of a walk. */
#define STEP_NO_RULE (-1)  /* a module with a table that says nothing here */
#define STEP_NO_TABLE (-2) /* code made at run time */

/* The rule for the frame in `w`, which depends on pc and `exact` alone: who walks often may remember it. 0
 * and the rule, or why there is none. */
STEP_INLINE int step_find_rule(struct step_walk* w, const struct unwind_rule** rule) {
  u64 lookup = w->exact ? w->pc : w->pc - 1, page_number;
  unwind_page page;
  const unwind_row* row;
  u32 low, high;

  if (lookup < w->start || lookup >= w->end) {
    const struct unwind_mapping* m;
    int index = step_find_mapping(w, lookup);
    if (index < 0) return WALK_NO_MAPPING;
    m = step_mapping(w, (u32)index);
    if (!m) return WALK_NO_MAPPING;
    w->start = m->start;
    w->end = m->end;
    w->bias = m->bias;
    w->page_base = m->page_base;
    w->first_page = m->first_page;
    w->page_count = m->page_count;
    w->mapping_index = (u32)index;
  }
  if (w->page_count == 0) return STEP_NO_TABLE;

  lookup -= w->bias;
  page_number = (lookup >> UNWIND_PAGE_SHIFT) - w->page_base;
  if (page_number >= w->page_count) return STEP_NO_RULE;
  page = step_page(w, w->first_page + (u32)page_number);
  low = (u32)page;
  high = (u32)(page >> 32);
  row = step_row(w, step_search_rows(w, low, high, (u32)lookup & 0xffff));
  *rule = step_rule(w, row ? UNWIND_ROW_RULE(*row) : 0);
  return *rule ? 0 : WALK_NO_RULE;
}

#endif
