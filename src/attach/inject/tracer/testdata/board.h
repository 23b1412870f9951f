/* Shared by a target of the injector's tests and the test itself: memory that the target inherits as
 * descriptor 3. Plain C, for glibc and musl. */
#ifndef FATHOM_INJECT_TESTDATA_BOARD_H
#define FATHOM_INJECT_TESTDATA_BOARD_H

#include <stdint.h>

#define BOARD_FD 3
#define BOARD_WAITS 16

struct board {
  uint64_t slot_taken, slot_given; /* addresses of the 8-byte words through which the target calls */
  uint64_t slot_linger;
  uint64_t hooked, go_on;           /* orders to the lingering thread */
  uint64_t lingering, lingered;     /* it is inside, it has returned */
  uint64_t keep, forget, forgotten; /* orders to keep the address in the slot, and to drop it; done */
  uint64_t ready;                   /* 1: all threads run */
  uint64_t stop;                    /* 1: exit */
  uint64_t taken, given;            /* calls so far of target_take and target_give */
  uint64_t broken;                  /* a block did not hold its content */
  uint64_t interrupted;             /* calls that ended with EINTR */
  uint64_t signals, signals_wrong;  /* handled; with a wrong value */
  uint64_t threads_born;
  uint64_t children, children_failed;
  uint64_t child;                /* the pid of a child that stays */
  uint64_t rounds[BOARD_WAITS];  /* by kind of wait: how often it ended correctly */
  uint64_t longest[BOARD_WAITS]; /* longest such wait, in ns */
};

#endif
