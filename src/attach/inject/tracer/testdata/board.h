/* What a target of the injector's tests and the test itself both see: a shared memory that the target
 * inherits as descriptor 3. Plain C, for glibc and musl. */
#ifndef FATHOM_INJECT_TESTDATA_BOARD_H
#define FATHOM_INJECT_TESTDATA_BOARD_H

#include <stdint.h>

#define BOARD_FD 3
#define BOARD_WAITS 16

struct board {
  uint64_t slot_taken, slot_given; /* addresses of the 8-byte words that the target calls through */
  uint64_t slot_linger;
  uint64_t hooked, go_on;       /* orders to the thread that lingers */
  uint64_t lingering, lingered; /* it is inside, it has come back */
  uint64_t keep, forget,
      forgotten;         /* orders to keep the address that the slot holds, and to let it go; done */
  uint64_t ready;        /* 1: all threads run */
  uint64_t stop;         /* 1: come to an end */
  uint64_t taken, given; /* calls made so far of target_take and target_give */
  uint64_t broken;       /* a block did not hold what was put there */
  uint64_t interrupted;  /* calls that ended with EINTR */
  uint64_t signals, signals_wrong; /* handled; with another value than was sent */
  uint64_t threads_born;
  uint64_t children, children_failed;
  uint64_t rounds[BOARD_WAITS];  /* by kind of wait: how often it ended as it should */
  uint64_t longest[BOARD_WAITS]; /* ns that such a wait took at most */
};

#endif
