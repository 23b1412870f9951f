/* What the scheduler programs send to user space through their own ring, and the account that they keep of
 * each thread. Times are CLOCK_MONOTONIC nanoseconds. */
#ifndef FATHOM_ABI_OFF_CPU_EVENTS_H
#define FATHOM_ABI_OFF_CPU_EVENTS_H

#include "base/abi/cpu_events.h"

/* How many switches of one kind there were in the last tenth of a second, and so how many are walked now.
 * Waits and preemptions each have a rate of their own: a thread that often loses its CPU would lose its few
 * long waits too. */
struct walk_rate {
  u64 window_ns;
  u32 switches, one_in;
};

/* Of waits that are walked when they are over, so that their length is known: those of at least this length are all
 * walked; of shorter ones one is walked for each such length that they add up to. */
struct length_rate {
  u64 window_ns;
  u32 period_us;     /* that length; 0: all are walked */
  u16 walks, before; /* in this window, and in the one before */
};

/* The same of a CPU, which walks fewer while it is full of waits. */
struct cpu_length_rate {
  struct length_rate rate;
  u32 waits; /* in this window, walked or not */
  u32 full;
};

/* In stack_id of an account: what becomes of the wait in progress. Numbers of stacks are hashes of 64 bits. */
#define STACK_WHEN_OVER 1ull /* whether its stack is walked is decided when it is over */
#define STACK_CHOSEN 2ull    /* it is over, and walked next */

/* A thread's account, kept at every switch. What each switch and wake-up touches comes first, a cache line
 * for each: a thread moves between CPUs, and every line of its account moves with it. */
struct thread_account {
  u32 tid; /* its owner; 0: none, ACCOUNT_TAKEN: an owner is just being entered */
  u32 pid;
  /* now */
  u64 in_ns;    /* runs since; 0: it does not run */
  u64 out_ns;   /* switched out at */
  u64 woken_ns; /* became runnable at; 0: not yet */
  u64 stack_id; /* of the wait in progress; 0: not walked; or as above */
  u32 waker_tid, waker_pid;
  u32 state;     /* task state; 0: preempted */
  u32 throttled; /* with state 0: stopped by the CPU quota of its control group */
  /* Of the wait in progress: for so long before out_ns its stack was walked. Part of the sums below, as the
   * thread had no CPU; not of the wait that is sent, as that stands for others that were not walked. */
  u64 walk_ns;
  /* exact, since the recording began */
  u64 ran_ns, waited_ns, queued_ns;
  u64 waits;       /* switched out because it had to wait */
  u64 preemptions; /* switched out though it could run on */
  u64 unwalked_waits,
      unwalked_ns; /* of both kinds: those whose stack was not walked; represented by others' weights */
  /* A wait that is over, kept until its system call returns and its result is known; 0: none. The next switch
   * overwrites the rest of the account, so it is sent then at the latest. */
  u64 held_out_ns;
  union {
    struct {
      struct walk_rate waits_rate,
          preemptions_rate; /* of kernels on which waits are walked when they begin */
    };
    struct length_rate lengths[2]; /* on others: [0] of waits, [1] of preemptions */
  };
  u64 held_waited_ns, held_queued_ns;
  u64 cpu_clock_ns; /* the scheduler's own clock of the thread, when it was switched out; 0: not yet */
  /* of waits that are walked only */
  u64 waker_stack_id;
  u64 fault_address;
  u64 arguments[4]; /* of the system call in progress */
  u64 inode;        /* of the file behind the first argument, where it is a descriptor */
  u64 lock_key;     /* the word at the process's key distance from a parker's futex word; 0: none */
  u32 device;
  u32 file_mode;       /* S_IFMT bits */
  u8 peer_address[16]; /* network order; of IPv4 the first four bytes */
  u32 peer_port, local_port;
  u32 peer_family;
  s32 system_call;  /* -1: none */
  u32 weight;       /* waits of this thread that the one in progress stands for */
  u32 socket_state; /* of the kernel: SOCKET_LISTENS or another one; 0: no socket */
  u32 unused[6];    /* up to whole cache lines */
};

/* Accounts lie in an array, at the low bits of the tid: a hash table's own lines were half of what a switch
 * cost. Threads that find their place taken have their account in a hash table. */
#define ACCOUNTS 16384
#define ACCOUNT_TAKEN 0xffffffffu
#define CROWDED_ACCOUNTS 49152

/* How parking_lot parks a thread: at a futex word of the thread's own that has this value. glibc and Rust's std wait with
 * other values or other operations. */
#define PARKER_WAITS 128 /* FUTEX_WAIT, private */
#define PARKER_PARKED 1
#define MAX_KEY_DISTANCES 1024

/* TCP_LISTEN, which sockets of other families use as well. */
#define SOCKET_LISTENS 10

/* A wait without a result: the call is still running, its result is not kept, or it was not observed. */
#define WAIT_NO_RESULT ((s64)(1ull << 63))

enum off_cpu_event_kind { OFF_CPU_EVENT_WAIT = 16, OFF_CPU_EVENT_THREAD_END = 17, OFF_CPU_EVENT_FAULT = 18 };

/* A wait that was walked, when it is over. Stacks are sent as struct cpu_event_stack in the same ring before.
 */
struct off_cpu_event_wait {
  u8 kind;
  u8 state; /* see kept_task_state() */
  u16 cpu;  /* where it goes on */
  u32 tid, pid;
  u32 waker_tid, waker_pid; /* 0: unknown, or the clock */
  s32 system_call;
  u32 weight;
  u32 device;
  u64 out_ns;
  u64 waited_ns; /* until it was woken */
  u64 queued_ns; /* from then until it ran */
  u64 stack_id, waker_stack_id;
  u64 arguments[4];
  u64 fault_address;
  u64 inode;
  u32 file_mode;
  u32 peer_family;
  u8 peer_address[16];
  u32 peer_port, local_port;
  u32 throttled; /* preempted by the CPU quota of its control group */
  u32 socket_state;
  s64 result;   /* what the call returned: WAIT_NO_RESULT if that is not known */
  u64 lock_key; /* as that of the account */
};

/* A page fault. */
struct off_cpu_event_fault {
  u8 kind;
  u8 major;
  u16 cpu;
  u32 tid, pid;
  u32 weight; /* so many does it stand for */
  u64 time_ns;
  u64 stack_id;
  u64 address;
};

/* Of minor faults, one in so many is sent; of major ones, each. */
#define MINOR_FAULTS_PER_EVENT 64

/* The account of a thread that ends. */
struct off_cpu_event_thread_end {
  u8 kind;
  u8 unused[3];
  u32 tid, pid;
  u32 unused2;
  u64 time_ns;
  u64 ran_ns, waited_ns, queued_ns;
  u64 waits, preemptions, unwalked_waits, unwalked_ns;
};

/* Reading the clock at the end of a switch, too, would cost a tenth of it. */
#define SWITCHES_PER_TIMING 16

/* Counters of one CPU. */
struct off_cpu_counters {
  u64 switches; /* of recorded threads, out and in */
  u64 walks, walk_ns;
  u64 run_ns; /* in the switch program, walks not included: from one switch in SWITCHES_PER_TIMING */
  u64 lost_ring_full, lost_accounts, lost_faults;
  u64 untold_switches; /* threads found running although no switch event reported that they got their CPU */
  struct walk_rate waits_rate, preemptions_rate;
  u64 expects_result; /* the thread that runs here now has a wait that is held until its call returns */
  struct cpu_length_rate lengths[2]; /* as those of an account */
  u64 early_window_ns;               /* walks of waits that began in this window */
  u32 early_walks;
  u32 walk_wanted; /* the wait of the thread that runs here from now on was chosen */
};

/* What is kept of the state of a thread that left its CPU: 0 preempted, 1 interruptible, 2 uninterruptible, 4 stopped,
 * 8 traced, and other low bits. A state may have high bits alone, and none of these threads wants to run: one that is
 * frozen is kept as stopped; one that sleeps for a spinlock of a kernel with PREEMPT_RT, as uninterruptible. Source:
 * include/linux/sched.h, TASK_FROZEN (since 6.1) and TASK_RTLOCK_WAIT (since 5.16). */
static inline __attribute__((always_inline)) u8 kept_task_state(u32 state) {
  const u32 frozen = 0x8000, low_bits = 0xff;
  if (state == 0 || (state & low_bits) != 0) return (u8)(state & low_bits);
  return state & frozen ? 4 : 2;
}

#endif
