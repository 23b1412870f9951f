/* The registers of an interrupted thread, as the kernel keeps them and the BPF programs read them. */
#ifndef FATHOM_ARCH_KERNEL_REGISTERS_H
#define FATHOM_ARCH_KERNEL_REGISTERS_H

/* struct pt_regs of the x86-64 ABI (base/arch/x86/include/uapi/asm/ptrace.h). cs and ss are 8 bytes wide: a
 * narrower load of them from a program's context is refused by the verifier. */
struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp,
      ss;
};

/* At the end of a thread's kernel stack lie the registers with which it entered the kernel. Linux 5.10 to 5.14; those built with
 * KASAN have twice as much. */
#define KERNEL_STACK_BYTES (1 << 14)

/* DWARF numbers 0 to 15 are rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15; here as words of struct pt_regs. */
#define DWARF_REGISTERS_KEPT 16
#define WORDS_OF_REGISTERS \
  { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0 }

#define REGISTERS_PC(regs) ((regs)->ip)
#define REGISTERS_SP(regs) ((regs)->sp)
#define REGISTERS_FP(regs) ((regs)->bp)
#define REGISTERS_MODE(regs) ((regs)->cs)
#define IS_USER_MODE(mode) (((mode)&3) == 3)
#define IS_32_BIT(mode) (((mode)&0xffff) == 0x23)

/* Arguments and result of a function, as words of struct pt_regs. Source: System V ABI, figure 3.4. */
#define FUNCTION_ARGUMENTS 6
#define WORDS_OF_ARGUMENTS \
  { 14, 13, 12, 11, 9, 8 }
#define WORD_OF_RESULT 10

/* Whether a conditional jump is taken, by the low four bits of its operation code: SDM volume 2, appendix B.1.4.7. Its lowest bit
 * turns the question round. */
#define REGISTERS_FLAGS(regs) ((regs)->flags)
static inline __attribute__((always_inline)) int jump_is_taken(unsigned long flags, unsigned int condition) {
  unsigned long carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1, sign = flags >> 7 & 1,
                overflow = flags >> 11 & 1, holds = 0;
  switch (condition >> 1 & 7) {
    case 0:
      holds = overflow;
      break;
    case 1:
      holds = carry;
      break;
    case 2:
      holds = zero;
      break;
    case 3:
      holds = carry | zero;
      break;
    case 4:
      holds = sign;
      break;
    case 5:
      holds = parity;
      break;
    case 6:
      holds = sign ^ overflow;
      break;
    case 7:
      holds = zero | (sign ^ overflow);
      break;
  }
  return holds != (condition & 1);
}

/* Of the system call that the thread is in; arguments also at its end. */
#define CALL_NUMBER(regs) ((regs)->orig_ax)
#define CALL_ARGUMENT_0(regs) ((regs)->di)
#define CALL_ARGUMENT_1(regs) ((regs)->si)
#define CALL_ARGUMENT_2(regs) ((regs)->dx)
#define CALL_ARGUMENT_3(regs) ((regs)->r10)

#endif
