/* What the CPU sampling program sends to user space through its ring, and what the two sides share besides.
 * All events start with a kind; numbers are host-endian, times are CLOCK_MONOTONIC nanoseconds. */
#ifndef FATHOM_ABI_CPU_EVENTS_H
#define FATHOM_ABI_CPU_EVENTS_H

#include "base/abi/unwind_table.h"
#include "base/abi/walk.h"

#define WIRE_VERSION 1

enum cpu_event_kind {
  CPU_EVENT_STACK = 1,
  CPU_EVENT_SAMPLE = 2,
  CPU_EVENT_THREAD_EXIT = 3,
  CPU_EVENT_STACK_COPY = 4,
  CPU_EVENT_FATAL_SIGNAL = 5
};

/* A sample of a stack that was sent before: 24 bytes. */
struct cpu_event_sample {
  u8 kind;
  u8 end; /* enum walk_end */
  u16 cpu;
  u32 tid;
  u64 time_ns;
  u64 stack_id;
};

#define MAX_KERNEL_FRAMES 127

/* A stack at its first sight, followed by addresses, kernel's first, leaf first: kernel_count, and user_count or
 * WALK_MAX_FRAMES. Its sample follows as an event of its own. Of a deeper stack the first WALK_LEAF_FRAMES user frames
 * are followed by a ring of WALK_ROOT_FRAMES that holds the last ones: frame i, from the leaf, stands at slot_of_frame. */
struct cpu_event_stack {
  u8 kind;
  u8 end;
  u16 kernel_count;
  u16 user_count; /* frames walked, which may be more than are kept */
  u16 kernel_truncated;
  u32 pid;
  u32 epoch; /* of the process's mappings, see struct tracked_process */
  u64 time_ns;
  u64 stack_id; /* hash of pid, epoch, end and addresses */
};

/* CPU_EVENT_STACK_COPY has the same header. The kernel's frames are followed by user_count words: pc, sp, fp, and the
 * stack from sp on. `end` is how the walk ended that this is sent instead of. */
#define COPIED_REGISTERS 3
#define COPIED_STACK_WORDS (COPIED_REGISTERS + 960)

/* Without a branch, which would double the states of the BPF verifier in every round. */
static inline __attribute__((always_inline)) u32 slot_of_frame(u32 frame) {
  u32 behind = frame - WALK_LEAF_FRAMES;
  u32 is_leaf = (u32)((s32)behind >> 31); /* all ones */
  return (frame & is_leaf) | ((WALK_LEAF_FRAMES + (behind & (WALK_ROOT_FRAMES - 1))) & ~is_leaf);
}

/* A thread of a recorded process ends; with the CPU time of its whole life. With the last one, or with several that end
 * at once, the process does. */
struct cpu_event_thread_exit {
  u8 kind;
  u8 process_ended;
  u8 out_of_memory; /* the kernel chose the process as the victim of an OOM kill */
  u8 unused;
  u32 tid;
  u32 pid;
  u32 wait_status; /* as wait(2) has it, where the process has ended */
  u64 time_ns;
  u64 cpu_ns;
};

/* A thread of a recorded process takes a signal that ends the process, as the program does not handle it. Its stack is sent before it,
 * as a CPU_EVENT_STACK or a CPU_EVENT_STACK_COPY. */
struct cpu_event_fatal_signal {
  u8 kind;
  u8 signal;
  u16 unused;
  s32 code; /* si_code: above 0 the kernel raised it, else a process sent it */
  u32 pid;
  u32 tid;
  u64 time_ns;
  u64 stack_id;
  u64 address; /* si_addr of what the kernel raised */
  u64 stack_pointer;
  u32 sender; /* pid of the process that sent it, in the numbers of the target; else 0 */
  u32 unused_end;
};

/* A process that is recorded. Key: its pid. Forked children are entered by BPF as copies of their parent. */
struct tracked_process {
  u32 mapping_first, mapping_count; /* in the joined array of mappings; count 0: not known yet */
  u32 epoch;                        /* grows whenever an address may have changed its meaning, see below */
  u32 waits_for_exec;               /* a child of ours that has not become the target yet: no samples */
  u32 copies_left;                  /* stacks that may be copied until the mappings are published again */
};

/* The upper half of an epoch counts the programs that the process has executed since it is followed, the
 * lower half the changes within one of them. Both sides count execs by themselves: user space hears of one
 * from records that the kernel writes before it reaches the tracepoint, and may have published the new
 * mappings by then. */
#define EPOCH_PROGRAM_SHIFT 16

/* Counters of one CPU; user space adds them up. */
struct cpu_counters {
  u64 samples; /* of tracked processes: sent + lost */
  u64 lost_ring_full;
  u64 stacks_sent;
  u64 stacks_not_sent; /* ring full: sent at the next sight */
  u64 kernel_truncated;
  u64 runs;   /* of the program, for tracked processes */
  u64 run_ns; /* time inside it */
};

/* Stack ids seen lately, to send each stack once. Direct-mapped: a collision costs a second sending, nothing
 * else. */
#define SEEN_SLOTS (1u << 17)
#define MAX_PROCESSES 32768
#define MAX_MAPPINGS 65536
/* Because mappings are missing: many, because programs start with many samples; but bounded, because each copy is useless
 * if an address is wrong and no mapping is missing. */
#define COPIES_PER_MAPPINGS 4096

#ifdef __cplusplus
static_assert(sizeof(cpu_event_sample) == 24, "a sample is 24 bytes");
static_assert(sizeof(cpu_event_stack) == 32, "both sides agree on the header of a stack");
#endif

#endif
