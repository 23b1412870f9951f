/* One unwinding step on x86-64, in plain C: from one frame's pc, sp and fp (rip, rsp and rbp) to its caller's.
 * What the includer defines: base/abi/step_tables.h. Source of the rules: System V ABI x86-64 section 3.4, LSB
 * .eh_frame; the fall-backs come from measurement (src/binary/unwind/WHY.md). */
#ifndef FATHOM_ARCH_STEP_H
#define FATHOM_ARCH_STEP_H

#include "base/abi/step_tables.h"

/* A frame pointer is believed when it lies this close above the stack pointer. */
#define STEP_FP_REACH (1ull << 20)

/* mov $15,%rax and the first byte of syscall: rt_sigreturn, as C libraries write it */
#define STEP_SIGRETURN 0x0f0000000fc0c748ull

/* Does a call instruction end at this address? E8 rel32, or FF /2 with any addressing, as far as 7 bytes
 * back. It separates a return address from a number that happens to point into code. 1 also if code cannot be
 * read here. */
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

/* The interpreter of a Java machine pushes the address that a method returns to, and jumps: no call stands before that. It
 * is believed if both are code made at run time, and the caller's frame lies a little further up. Inline, as above. */
STEP_INLINE int step_pushed_return(struct step_walk* w, u64 address, u64 fp) {
  const struct unwind_mapping* m;
  int index;
  if (fp <= w->fp || fp - w->fp > STEP_FP_REACH || (fp & 7)) return 0;
  index = step_find_mapping(w, address);
  if (index < 0) return 0;
  m = step_mapping(w, (u32)index);
  return m && m->page_count == 0;
}

/* The caller by the frame pointer: rbp points at the saved rbp, with the return address above it. */
STEP_FN int step_by_frame_pointer(struct step_walk* w, u32 made_at_run_time) {
  u64 ra = 0, fp = 0;
  if (!w) return WALK_NO_RULE;
  if (w->fp < w->sp || w->fp - w->sp > STEP_FP_REACH || (w->fp & 7)) return WALK_NO_RULE;
  if (step_read_u64(w, w->fp + 8, &ra) || step_read_u64(w, w->fp, &fp)) return WALK_NO_RULE;
  if (ra == 0) return WALK_ROOT;
  if (!step_plausible_return(w, ra) && !(made_at_run_time && step_pushed_return(w, ra, fp)))
    return WALK_NO_RULE;
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
  w->resumed = 1;
  return 0;
}

/* No rule for this code: a signal trampoline without unwind information, a leaf, or code with frame pointers.
 * Code made at run time keeps frame pointers as a rule, hand-written assembly is a leaf as a rule. */
STEP_FN int step_without_rule(struct step_walk* w, u32 made_at_run_time) {
  u64 code = 0;
  int end;
  if (!w) return WALK_NO_RULE;
  if (step_read_code(w, w->pc, &code) == 0 && code == STEP_SIGRETURN) return step_signal_frame(w);
  if (!made_at_run_time && step_leaf(w) == 0)
    end = 0;
  else {
    end = step_by_frame_pointer(w, made_at_run_time);
    if (end == WALK_NO_RULE && made_at_run_time) end = step_leaf(w);
  }
  if (end) return end;
  w->exact = 0;
  w->first = 0;
  return 0;
}

/* May a rule that is doubted have found this? A return address, the trampoline that a signal handler returns to, or
 * where a goroutine ends: behind the nop that runtime.goexit begins with. Inline, as above. */
STEP_INLINE int step_doubt_is_past(struct step_walk* w, u64 address) {
  u64 code = 0;
  if (step_plausible_return(w, address)) return 1;
  if (step_read_code(w, address, &code) == 0 && code == STEP_SIGRETURN) return 1;
  return step_read_code(w, address - 8, &code) == 0 && code >> 56 == 0x90 &&
         step_find_mapping(w, address) >= 0;
}

/* What calls through the procedure linkage table while the loader still looks for the function (glibc's
 * _dl_runtime_resolve): rbx holds sp as it was, then sp is aligned to 64 bytes and `size` is taken off, which depends on the
 * processor. rbx is a multiple of 16, so it is one of four places; above it lie the saved rbx, the library, the number of
 * the relocation and the return address. The CFA, or 0 if not just one of them looks so. */
#define STEP_BINDING_ALIGNMENT 64
#define STEP_BINDING_CFA 32               /* above rbx */
#define STEP_BINDING_MOST_SIZE (1u << 16) /* bytes; 11 KiB with AMX */
#define STEP_BINDING_MOST_RELOCATIONS (1u << 24)

STEP_FN u64 step_binding_frame(struct step_walk* w, u64 size_at) {
  u64 size = 0, base, found = 0, library, relocation, ra;
  if (!w) return 0;
  if (step_read_u64(w, size_at, &size) || size == 0 || size > STEP_BINDING_MOST_SIZE) return 0;
  base = w->sp + size;
  if (base & (STEP_BINDING_ALIGNMENT - 1)) return 0;
  STEP_KEEP_LOOP
  for (int i = 0; i < STEP_BINDING_ALIGNMENT / 16; i++, base += 16) {
    if (step_read_u64(w, base + 8, &library) || (library & 7) || library < 4096) continue;
    if (step_read_u64(w, base + 16, &relocation) || relocation >= STEP_BINDING_MOST_RELOCATIONS) continue;
    if (step_read_u64(w, base + 24, &ra) || !step_plausible_return(w, ra)) continue;
    if (found) return 0;
    found = base + STEP_BINDING_CFA;
  }
  return found;
}

/* From the frame in `w` to its caller by its rule. 0, or how the walk ended; then `w` still holds the last
 * frame. */
STEP_INLINE int step_by_rule(struct step_walk* w, const struct unwind_rule* rule) {
  u64 cfa = 0, ra = 0, fp, address;
  int error;

  switch (rule->cfa) {
    case CFA_SP:
      cfa = w->sp + (u64)(s64)rule->cfa_offset;
      break;
    case CFA_FP:
      cfa = w->fp + (u64)(s64)rule->cfa_offset;
      break;
    case CFA_PLT:
      cfa = w->sp + (u64)(s64)rule->cfa_offset + ((w->pc & 15) >= rule->reg ? 8 : 0);
      break;
    case CFA_DEREF_SP:
    case CFA_DEREF_FP:
      address = (rule->cfa == CFA_DEREF_SP ? w->sp : w->fp) + (u64)(s64)rule->cfa_offset;
      error = step_read_u64(w, address, &cfa);
      if (error) return error;
      cfa += (u64)(s64)rule->add;
      break;
    case CFA_REGISTER:
      /* Further out the register is as it was sampled unless a frame within has changed it, which no row of ours says.
       * Hand-written code relies on it (AES-GCM of OpenSSL keeps sp in rax while it calls helpers): what follows from
       * it is believed if it looks like a frame. */
      if (w->resumed || step_read_register(w, rule->reg, &cfa)) return WALK_UNSUPPORTED;
      cfa += (u64)(s64)rule->cfa_offset;
      if (!w->first) {
        if (cfa - w->sp > STEP_FP_REACH || (cfa & 7) || step_read_u64(w, cfa - 8, &ra) ||
            !step_plausible_return(w, ra))
          return WALK_UNSUPPORTED;
      }
      break;
    case CFA_BINDING:
      if (w->first && step_read_register(w, rule->reg, &cfa) == 0)
        cfa += (u64)(s64)rule->cfa_offset;
      else if ((cfa = step_binding_frame(w, w->bias + (u64)(s64)rule->fp_offset)) == 0)
        return WALK_UNSUPPORTED;
      break;
    case CFA_SIGNAL:
      return step_signal_frame(w);
    case CFA_END:
      return WALK_ROOT;
    case CFA_EXCEPTION:
      return WALK_EXCEPTION;
    case CFA_NONE:
      return step_without_rule(w, 0);
    default:
      return WALK_UNSUPPORTED;
  }
  if (cfa <= w->sp && !(rule->flags & UNWIND_RULE_SWITCHES)) return WALK_NO_PROGRESS;

  error = step_read_u64(w, cfa - 8, &ra);
  if (error) return error;
  if (rule->flags && ra != 0 && !step_doubt_is_past(w, ra)) return step_without_rule(w, 0);
  fp = w->fp;
  if (rule->fp == FP_AT_CFA || rule->fp == FP_AT_FP) {
    address = (rule->fp == FP_AT_CFA ? cfa : w->fp) + (u64)(s64)rule->fp_offset;
    /* A slot below the stack pointer was popped already (gcc's epilogues state no restore): the register is
     * right. */
    if (address >= w->sp || (rule->flags & UNWIND_RULE_SWITCHES)) {
      error = step_read_u64(w, address, &fp);
      if (error) return error;
    }
  } else if (rule->fp == FP_UNDEFINED) {
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

#include "base/abi/step_once.h"

#endif
