/* The thread that runs now, and what differs between kernels about it. The programs are built twice from one source: as they are, for
 * Linux 5.15 and later, and with BEFORE_LINUX_5_15 for those from 5.10 on, which lack helpers and verify global functions
 * with numbers as arguments only. One build for both would make each walk on a newer kernel look its buffer up for every frame. */
#ifndef FATHOM_BPF_CURRENT_TASK_H
#define FATHOM_BPF_CURRENT_TASK_H

#if BEFORE_LINUX_5_15

/* Verified once per call: there are few. */
#define SHARED_FUNCTION static __attribute__((noinline))

/* bpf_get_current_task_btf is of 5.11; through this pointer all is read by a helper. */
static __always_inline struct task_struct* current_task(void) {
  return (struct task_struct*)bpf_get_current_task();
}
#define FIELD_OF_TASK(task, field) BPF_CORE_READ(task, field)

/* bpf_task_pt_regs is of 5.15. The registers with which a thread entered the kernel lie at the end of its kernel stack. */
static __always_inline struct pt_regs* entry_registers(struct task_struct* task) {
  return (struct pt_regs*)(BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES) - 1;
}

#else

/* Global functions are verified once each, with unknown arguments, instead of once per call: that is what
 * keeps the whole walk at some 20,000 verified instructions instead of over a million. */
#define SHARED_FUNCTION __attribute__((noinline))

static __always_inline struct task_struct* current_task(void) {
  return bpf_get_current_task_btf();
}
#define FIELD_OF_TASK(task, field) ((task)->field)

static __always_inline struct pt_regs* entry_registers(struct task_struct* task) {
  return (struct pt_regs*)bpf_task_pt_regs(task);
}

#endif

static __always_inline u32 state_of(struct task_struct* task) {
  struct task_struct___before_5_14* older = (void*)task;
  if (bpf_core_field_exists(task->__state)) return BPF_CORE_READ(task, __state);
  return (u32)BPF_CORE_READ(older, state);
}

#endif
