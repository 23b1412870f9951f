/* One unwinding step on x86-64, in plain C: from one frame's rip, rsp and rbp to its caller's. The same
 * source is compiled into the BPF programs, the user-mode walker and the tracer, so that what fuzzers and
 * differential tests see is what runs in the kernel. Source of the rules: System V ABI x86-64 section 3.4,
 * LSB .eh_frame; the fall-backs come from measurement (docs/decisions.md, "walking without a rule").
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
#ifndef FATHOM_ABI_STEP_X86_64_H
#define FATHOM_ABI_STEP_X86_64_H

#include "abi/unwind_table.h"
#include "abi/walk.h"

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
};

/* Parts of a step that are functions for the reader only. */
#define STEP_INLINE static inline __attribute__((always_inline))

/* A frame pointer is believed when it lies this close above the stack pointer. */
#define STEP_FP_REACH (1ull << 20)

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

/* Does a call instruction end at this address? E8 rel32, or FF /2 with any addressing, as far as 7 bytes
 * back. It tells a return address from a number that happens to lie in code. 1 also when code cannot be read
 * here. */
STEP_FN int step_after_call(struct step_walk* w, u64 address) {
  u64 code = 0;
  if (!w) return 0;
  if (step_read_code(w, address - 8, &code)) return 1;
  /* code byte 7 - k (bits 56 - 8k) is the one k + 1 bytes before the address */
  if (((code >> 24) & 0xff) == 0xe8) return 1;     /* call rel32 */
  if (((code >> 48) & 0x38ff) == 0x10ff) return 1; /* FF /2, 2 bytes: register or memory */
  if (((code >> 40) & 0x38ff) == 0x10ff) return 1; /* 3 bytes: disp8, or SIB */
  if (((code >> 32) & 0x38ff) == 0x10ff) return 1; /* 4 bytes: SIB and disp8 */
  if (((code >> 16) & 0x38ff) == 0x10ff) return 1; /* 6 bytes: disp32 or rip-relative */
  if (((code >> 8) & 0x38ff) == 0x10ff) return 1;  /* 7 bytes: SIB and disp32 */
  return 0;
}

/* Is this a return address into code that we know? Inline: a BPF program may be eight calls deep, and a walk is. */
STEP_INLINE int step_plausible_return(struct step_walk* w, u64 address) {
  return step_find_mapping(w, address) >= 0 && step_after_call(w, address);
}

/* The caller by the frame pointer: rbp points at the saved rbp, with the return address above it. */
STEP_FN int step_by_frame_pointer(struct step_walk* w) {
  u64 ra = 0, fp = 0;
  if (!w) return WALK_NO_RULE;
  if (w->fp < w->sp || w->fp - w->sp > STEP_FP_REACH || (w->fp & 7)) return WALK_NO_RULE;
  if (step_read_u64(w, w->fp + 8, &ra) || step_read_u64(w, w->fp, &fp)) return WALK_NO_RULE;
  if (ra == 0) return WALK_ROOT;
  if (!step_plausible_return(w, ra)) return WALK_NO_RULE;
  w->sp = w->fp + 16;
  w->fp = fp;
  w->pc = ra;
  return 0;
}

/* The caller of a leaf that has pushed nothing: the return address is on top of the stack. */
STEP_FN int step_leaf(struct step_walk* w) {
  u64 ra = 0;
  if (!w || !w->first) return WALK_NO_RULE;
  if (step_read_u64(w, w->sp, &ra) || !step_plausible_return(w, ra)) return WALK_NO_RULE;
  w->sp += 8;
  w->pc = ra;
  return 0;
}

/* The interrupted code under a signal handler: struct rt_sigframe, with rsp at its ucontext. uc_mcontext
 * starts at byte 40: r8..r15, rdi, rsi, rbp (120), rbx, rdx, rax, rcx, rsp (160), rip (168). */
STEP_FN int step_signal_frame(struct step_walk* w) {
  u64 pc = 0, sp = 0, fp = 0;
  int error;
  if (!w) return WALK_NO_RULE;
  error = step_read_u64(w, w->sp + 168, &pc);
  if (!error) error = step_read_u64(w, w->sp + 160, &sp);
  if (!error) error = step_read_u64(w, w->sp + 120, &fp);
  if (error) return error;
  w->pc = pc;
  w->sp = sp;
  w->fp = fp;
  w->exact = 1;
  w->first = 0;
  return 0;
}

/* No rule for this code: a signal trampoline without unwind information, a leaf, or code with frame pointers.
 * Code made at run time keeps frame pointers as a rule, hand-written assembly is a leaf as a rule. */
STEP_FN int step_without_rule(struct step_walk* w, u32 made_at_run_time) {
  u64 code = 0;
  int end;
  if (!w) return WALK_NO_RULE;
  /* mov $15,%rax; syscall: rt_sigreturn (musl) */
  if (step_read_code(w, w->pc, &code) == 0 && code == 0x0f0000000fc0c748ull) return step_signal_frame(w);
  if (!made_at_run_time && step_leaf(w) == 0)
    end = 0;
  else {
    end = step_by_frame_pointer(w);
    if (end == WALK_NO_RULE && made_at_run_time) end = step_leaf(w);
  }
  if (end) return end;
  w->exact = 0;
  w->first = 0;
  return 0;
}

/* What step_find_rule says instead of a rule, besides the ends of a walk. */
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

/* From the frame in `w` to its caller by its rule. 0, or how the walk ended; then `w` still holds the last
 * frame. */
STEP_INLINE int step_by_rule(struct step_walk* w, const struct unwind_rule* rule) {
  u64 cfa = 0, ra = 0, fp, address;
  int error;

  switch (rule->cfa) {
    case CFA_RSP:
      cfa = w->sp + (u64)(s64)rule->cfa_offset;
      break;
    case CFA_RBP:
      cfa = w->fp + (u64)(s64)rule->cfa_offset;
      break;
    case CFA_PLT:
      cfa = w->sp + (u64)(s64)rule->cfa_offset + ((w->pc & 15) >= rule->reg ? 8 : 0);
      break;
    case CFA_DEREF_RSP:
    case CFA_DEREF_RBP:
      address = (rule->cfa == CFA_DEREF_RSP ? w->sp : w->fp) + (u64)(s64)rule->cfa_offset;
      error = step_read_u64(w, address, &cfa);
      if (error) return error;
      cfa += (u64)(s64)rule->add;
      break;
    case CFA_REGISTER:
      if (!w->first || step_read_register(w, rule->reg, &cfa)) return WALK_UNSUPPORTED;
      cfa += (u64)(s64)rule->cfa_offset;
      break;
    case CFA_SIGNAL:
      return step_signal_frame(w);
    case CFA_END:
      return WALK_ROOT;
    case CFA_NONE:
      return step_without_rule(w, 0);
    default:
      return WALK_UNSUPPORTED;
  }
  if (cfa <= w->sp) return WALK_NO_PROGRESS;

  error = step_read_u64(w, cfa - 8, &ra);
  if (error) return error;
  fp = w->fp;
  if (rule->rbp == RBP_AT_CFA || rule->rbp == RBP_AT_RBP) {
    address = (rule->rbp == RBP_AT_CFA ? cfa : w->fp) + (u64)(s64)rule->rbp_offset;
    /* A slot below the stack pointer was popped already (gcc's epilogues state no restore): the register is
     * right. */
    if (address >= w->sp) {
      error = step_read_u64(w, address, &fp);
      if (error) return error;
    }
  } else if (rule->rbp == RBP_UNDEFINED) {
    fp = 0;
  }
  if (ra == 0) return WALK_ROOT;
  w->pc = ra;
  w->sp = cfa;
  w->fp = fp;
  w->exact = 0;
  w->first = 0;
  return 0;
}

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
    return 0;
  }
  return found;
}

#endif
