/* The registers of an interrupted thread: only what the programs ask for, and nothing that means anything. */
#ifndef FATHOM_ARCH_KERNEL_REGISTERS_H
#define FATHOM_ARCH_KERNEL_REGISTERS_H

struct pt_regs {
  unsigned long word;
};
#define KERNEL_STACK_BYTES 4096
#define DWARF_REGISTERS_KEPT 1
#define WORDS_OF_REGISTERS \
  { 0 }

#define REGISTERS_PC(regs) ((regs)->word)
#define REGISTERS_SP(regs) ((regs)->word)
#define REGISTERS_FP(regs) ((regs)->word)
#define REGISTERS_MODE(regs) ((regs)->word)
#define IS_USER_MODE(mode) ((mode) == 0)
#define IS_32_BIT(mode) ((mode) == 0)

#define FUNCTION_ARGUMENTS 1
#define WORDS_OF_ARGUMENTS \
  { 0 }
#define WORD_OF_RESULT 0
#define REGISTERS_FLAGS(regs) ((regs)->word)
static inline __attribute__((always_inline)) int jump_is_taken(unsigned long flags, unsigned int condition) {
  return flags != 0 && condition != 0;
}

#define CALL_NUMBER(regs) ((regs)->word)
#define CALL_ARGUMENT_0(regs) ((regs)->word)
#define CALL_ARGUMENT_1(regs) ((regs)->word)
#define CALL_ARGUMENT_2(regs) ((regs)->word)
#define CALL_ARGUMENT_3(regs) ((regs)->word)

#endif
