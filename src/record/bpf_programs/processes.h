/* Keeps the set of recorded processes true between two looks of user space: a child is recorded from its
 * first instruction on, and a process that replaces its image is never walked with the tables of the old one.
 */
#ifndef FATHOM_BPF_PROCESSES_H
#define FATHOM_BPF_PROCESSES_H

const volatile bool follow_children = 1;

/* A process that stops when it executes a program, before the first instruction of it; 0: none. How often it
 * did. */
u32 hold_execs_of = 0;
u64 execs_held = 0;
#define SIGNAL_STOP 19

/* Its own ring: a timer that interrupts this program never finds the ring of its samples locked. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 18);
} exit_ring SEC(".maps");

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_forked, struct task_struct* parent, struct task_struct* child) {
  u32 parent_pid = parent->tgid, pid = child->tgid;
  struct tracked_process* process;
  if (pid == parent_pid || !follow_children) return 0;
  process = bpf_map_lookup_elem(&processes, &parent_pid);
  if (process) {
    struct tracked_process copy = *process;
    const u32* executed = bpf_map_lookup_elem(&programs_executed, &parent_pid);
    u32 count = executed ? *executed : 0;
    bpf_map_update_elem(&programs_executed, &pid, &count, BPF_ANY);
    bpf_map_update_elem(&processes, &pid, &copy, BPF_ANY);
  }
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_execed, struct task_struct* task, int old_pid) {
  u32 pid = task->tgid;
  struct tracked_process* process = bpf_map_lookup_elem(&processes, &pid);
  const u32* executed;
  u32 count;
  if (!process) return 0;
  executed = bpf_map_lookup_elem(&programs_executed, &pid);
  count = executed ? *executed + 1 : 1;
  bpf_map_update_elem(&programs_executed, &pid, &count, BPF_ANY);
  if (pid == hold_execs_of && bpf_send_signal(SIGNAL_STOP) == 0) __sync_fetch_and_add(&execs_held, 1);
  process->waits_for_exec = 0; /* in place: the mappings may be those of the new program already */
  return 0;
}

/* SIGNAL_GROUP_EXIT of the kernel's include/linux/sched/signal.h: all threads end with one status. */
#define SIGNAL_GROUP_EXIT 4u

/* The exact CPU time of a thread, at the last moment at which it can be had; and how its process ended. The kernel
 * counts the thread as gone before it comes here. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_exited, struct task_struct* task) {
  struct cpu_event_thread_exit event = {.kind = CPU_EVENT_THREAD_EXIT};
  struct signal_struct* all = task->signal;
  u32 pid = task->tgid;
  if (!bpf_map_lookup_elem(&processes, &pid)) return 0;
  event.pid = pid;
  event.tid = task->pid;
  event.time_ns = bpf_ktime_get_ns();
  event.cpu_ns = task->se.sum_exec_runtime;
  if (all->live.counter == 0) {
    event.process_ended = 1;
    event.wait_status = all->flags & SIGNAL_GROUP_EXIT ? all->group_exit_code : task->group_leader->exit_code;
    if (bpf_core_field_exists(all->oom_mm)) event.out_of_memory = all->oom_mm != 0;
  }
  bpf_ringbuf_output(&exit_ring, &event, sizeof(event), BPF_RB_NO_WAKEUP);
  return 0;
}

#endif
