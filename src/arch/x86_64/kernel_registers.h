/* The registers of an interrupted thread, as the kernel keeps them and the BPF programs read them. */
#ifndef FATHOM_ARCH_KERNEL_REGISTERS_H
#define FATHOM_ARCH_KERNEL_REGISTERS_H

/* struct pt_regs of the x86-64 ABI (arch/x86/include/uapi/asm/ptrace.h). cs and ss are 8 bytes wide: a
 * narrower load of them from a program's context is refused by the verifier. */
struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp,
      ss;
};

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

/* Of the system call that the thread is in; arguments also at its end. */
#define CALL_NUMBER(regs) ((regs)->orig_ax)
#define CALL_ARGUMENT_0(regs) ((regs)->di)
#define CALL_ARGUMENT_1(regs) ((regs)->si)
#define CALL_ARGUMENT_2(regs) ((regs)->dx)
#define CALL_ARGUMENT_3(regs) ((regs)->r10)

#endif
