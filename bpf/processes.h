/* Keeps the set of recorded processes true between two looks of user space: a child is recorded from its
 * first instruction on, and a process that replaces its image is never walked with the tables of the old one.
 */
#ifndef FATHOM_BPF_PROCESSES_H
#define FATHOM_BPF_PROCESSES_H

const volatile bool follow_children = 1;

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_forked, struct task_struct* parent, struct task_struct* child) {
  u32 parent_pid = parent->tgid, pid = child->tgid;
  struct tracked_process* process;
  if (pid == parent_pid || !follow_children) return 0;
  process = bpf_map_lookup_elem(&processes, &parent_pid);
  if (process) {
    struct tracked_process copy = *process;
    bpf_map_update_elem(&processes, &pid, &copy, BPF_ANY);
  }
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_execed, struct task_struct* task, int old_pid) {
  u32 pid = task->tgid;
  struct tracked_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (process) {
    struct tracked_process fresh = {.epoch = process->epoch + 1};
    bpf_map_update_elem(&processes, &pid, &fresh, BPF_ANY);
  }
  return 0;
}

#endif
