/* How many of the waits have their stack walked. A walked wait stands for others with its weight. Compiled for the
 * kernel, and for tests that count. Plain C.
 *
 * Where a wait can be walked when it is over, its length decides: long ones are all walked, short ones seldom, so a
 * walk stands for a piece of time, and few of them are enough. Elsewhere it is decided when the wait begins, and all
 * waits of a moment have the same chance. In both cases the rest comes from the past alone, so sums stay unbiased, and
 * a rate stays below about twice its budget, also in the moment in which waits become many. */
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

#define MOST_IN_ONE 1024u /* so that there is something to count among short waits, too */

/* Begins a new window if the last one is over. A period that was too short for the budget becomes longer by as much;
 * one that was too long, half as long for each window. */
static inline __attribute__((always_inline)) void roll_length_rate(struct length_rate* rate, u32 budget,
                                                                   u64 now) {
  u64 windows = (now - rate->window_ns) / WALK_WINDOW_NS;
  u32 period = rate->period_us;
  if (windows == 0) return;
  if (rate->walks >= budget / 2)
    period = (u32)((u64)period * rate->walks / budget);
  else
    period /= 2;
  if (windows > 1) period = windows > 20 ? 0 : period >> (windows - 1);
  rate->period_us = period;
  rate->before = windows > 1 ? 0 : rate->walks;
  rate->walks = 0;
  rate->window_ns = now;
}

/* One in how many waits of this length is walked. */
static inline __attribute__((always_inline)) u32 one_in_of_length(u32 period_us, u64 length_ns) {
  u64 length_us = length_ns / 1000 + 1;
  u32 one_in;
  if (length_us >= period_us) return 1;
  one_in = period_us / (u32)length_us;
  if (one_in > MOST_IN_ONE) return MOST_IN_ONE;
  return one_in > 1 ? one_in : 1;
}

/* A walk more. Twice the budget makes the period four times as long at once, and so does each further budget. */
static inline __attribute__((always_inline)) void count_walk_of_length(struct length_rate* rate, u32 budget) {
  rate->walks++;
  if (rate->walks < 2 * budget) return;
  rate->walks = (u16)budget;
  rate->period_us = rate->period_us ? rate->period_us < 1u << 28 ? rate->period_us * 4 : rate->period_us : 4;
}

/* A wait more on a CPU. Its budget from now on: all of it up to that many waits in a window, two fifths above twice as many. Walks by
 * length need no more than that, and on a full CPU each of them delays what others wait for. */
static inline __attribute__((always_inline)) u32 count_wait_on_cpu(struct cpu_length_rate* cpu, u32 budget,
                                                                   u64 now) {
  u32 low = budget * 2 / 5 + 1;
  if (now - cpu->rate.window_ns >= WALK_WINDOW_NS) {
    if (cpu->waits <= budget || now - cpu->rate.window_ns >= 2 * WALK_WINDOW_NS) cpu->full = 0;
    cpu->waits = 0;
    roll_length_rate(&cpu->rate, cpu->full ? low : budget, now);
  }
  if (++cpu->waits > 2 * budget) cpu->full = 1;
  return cpu->full ? low : budget;
}

/* Threads that wait seldom have the waits that one looks for: their walks are a sixteenth as rare where a CPU is full. */
#define SELDOM_WAITS 10 /* in a window */
static inline __attribute__((always_inline)) u32 one_in_of_wait(const struct length_rate* thread,
                                                                const struct length_rate* cpu,
                                                                u64 length_ns) {
  int seldom = thread->period_us == 0 && thread->before <= SELDOM_WAITS && thread->walks <= SELDOM_WAITS;
  u32 of_thread = one_in_of_length(thread->period_us, length_ns);
  u32 of_cpu = one_in_of_length(cpu->period_us / (seldom ? 16 : 1), length_ns);
  return of_thread > of_cpu ? of_thread : of_cpu;
}

#endif
