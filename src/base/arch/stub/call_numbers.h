/* The system calls that the BPF programs ask about: none has a number. */
#ifndef FATHOM_ARCH_CALL_NUMBERS_H
#define FATHOM_ARCH_CALL_NUMBERS_H

#include "base/abi/unwind_table.h" /* integer types */

#define CALL_POLL (-7)
#define CALL_MMAP ((u64)-9)
#define CALL_MUNMAP ((u64)-11)
#define CALL_BRK ((u64)-12)
#define CALL_MREMAP ((u64)-25)
#define CALL_SELECT (-23)
#define CALL_MADVISE ((u64)-28)
#define CALL_FUTEX (-202)
#define CALL_PSELECT6 (-270)
#define CALL_PPOLL (-271)

static inline int call_moves_bytes(s32 number) {
  (void)number;
  return 0;
}
static inline int call_has_result(s32 number) {
  (void)number;
  return 0;
}

#endif
