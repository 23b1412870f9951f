/* The system calls of x86-64 that the BPF programs ask about. Plain C. */
#ifndef FATHOM_ARCH_CALL_NUMBERS_H
#define FATHOM_ARCH_CALL_NUMBERS_H

#include "base/abi/unwind_table.h" /* integer types */

#define CALL_POLL 7
#define CALL_MMAP 9
#define CALL_MUNMAP 11
#define CALL_BRK 12
#define CALL_MREMAP 25
#define CALL_SELECT 23
#define CALL_MADVISE 28
#define CALL_FUTEX 202
#define CALL_PSELECT6 270
#define CALL_PPOLL 271

/* The result is kept with its wait: bytes that were moved, or a negative error number. */
static inline int call_moves_bytes(s32 number) {
  switch (number) {
    case 0:   /* read */
    case 1:   /* write */
    case 17:  /* pread64 */
    case 18:  /* pwrite64 */
    case 19:  /* readv */
    case 20:  /* writev */
    case 40:  /* sendfile */
    case 44:  /* sendto */
    case 45:  /* recvfrom */
    case 46:  /* sendmsg */
    case 47:  /* recvmsg */
    case 275: /* splice */
    case 295: /* preadv */
    case 296: /* pwritev */
    case 326: /* copy_file_range */
    case 327: /* preadv2 */
    case 328: /* pwritev2 */
      return 1;
    default:
      return 0;
  }
}
/* It waits for one of several files, and returns 0 if none of them is ready in time: poll, select, pselect6, ppoll. Those of
 * epoll are left out: event loops wait in them, and the end of each of their calls would be observed. */
static inline int call_polls(s32 number) {
  return number == 7 || number == 23 || number == 270 || number == 271;
}
/* Those, and the ones that only succeed or fail: fsync, fdatasync, sync_file_range. */
static inline int call_has_result(s32 number) {
  return call_moves_bytes(number) || call_polls(number) || number == 74 || number == 75 || number == 277;
}

#endif
