/* How many of the switches have their stack walked. Decided when a wait begins, from the switches of the past alone, so
 * that a wait's length never decides whether it is seen. Compiled for the kernel, and for tests that count. Plain C.
 *
 * A rate stays below about twice its budget, also in the moment in which switches become many, and what is walked
 * stands for all the others: one in so many. */
#ifndef FATHOM_ABI_WALK_BUDGET_H
#define FATHOM_ABI_WALK_BUDGET_H

#include "base/abi/off_cpu_events.h"

#define WALK_WINDOW_NS 100000000ull /* budgets are for this time */

/* One switch more. One in how many is walked, from the switches in the last window; twice as few at once when this
 * window runs over. In the kernel the verifier follows it once, and not at each call (record/bpf_programs/current_task.h). */
#ifdef __bpf__
SHARED_FUNCTION
#else
static inline
#endif
u32 adapt_walks(struct walk_rate* rate, u32 budget, u64 now) {
  if (!rate) return 1;
  if (rate->one_in == 0) rate->one_in = 1;
  if (now - rate->window_ns > WALK_WINDOW_NS) {
    u32 switches = now - rate->window_ns > 2 * WALK_WINDOW_NS ? 0 : rate->switches;
    rate->one_in = switches > budget ? switches / budget : 1;
    rate->window_ns = now;
    rate->switches = 0;
  }
  rate->switches++;
  if (rate->switches > 2 * budget * rate->one_in) rate->one_in *= 2;
  return rate->one_in;
}

/* A CPU with far more waits than its budget is full, and a walk holds the lock of its run queue for some 10 us: all of
 * the budget was the dearest part of recording a loaded node, 2 % of a CPU. So from four times the budget on a
 * quarter of it is walked; below twice the budget nothing changes, and in between the walks become fewer. */
static inline __attribute__((always_inline)) u32 adapt_walks_on_cpu(struct walk_rate* rate, u32 budget,
                                                                    u64 now) {
  u32 one_in = adapt_walks(rate, budget, now);
  return one_in * (one_in < 4 ? one_in : 4);
}

#endif
