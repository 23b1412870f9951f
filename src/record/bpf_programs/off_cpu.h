/* Off-CPU time: every switch of a recorded thread is booked, so the sums are exact. wait_book.h has the sums; here are the programs.
 *
 * Where the kernel has a tracepoint for it, a wait is walked when it is over: by the thread itself, which holds no lock
 * there and is still inside of the call in which it waited. The walk of a wait that began is done with the run queue
 * locked. Threads that nearly always wait are walked there all the same, so that their stacks are known while they
 * wait; so is everything on older kernels. */
#ifndef FATHOM_BPF_OFF_CPU_H
#define FATHOM_BPF_OFF_CPU_H

#include "wait_book.h"

static __always_inline bool is_recorded(u32 pid) {
  struct tracked_process* process;
  if (!pid) return 0;
  process = bpf_map_lookup_elem(&processes, &pid);
  return process && !process->waits_for_exec;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switched, bool preempt, struct task_struct* prev, struct task_struct* next) {
  u32 out_tid = prev->pid, in_tid = next->pid, zero = 0;
  struct thread_account* out = out_tid ? account_of(out_tid) : 0;
  struct thread_account* in = in_tid ? account_of(in_tid) : 0;
  struct off_cpu_counters* counters;
  u64 now, walked;
  /* A recorded thread without an account: the table of threads is full, or it is older than that. On its way
   * in it may be born, or asleep since before the recording: user space knows its beginning. */
  bool lost = !out && is_recorded(prev->tgid);
  if (!out && !in && !lost) return 0;
  counters = bpf_map_lookup_elem(&off_cpu_counters, &zero);
  if (!counters) return 0;
  now = bpf_ktime_get_ns();
  walked = counters->walk_ns;
  counters->switches++;
  counters->lost_accounts += lost;
  /* The argument prev_state exists since 5.18 only; the field has not changed yet here. */
  if (out) switched_out(ctx, prev, out, out_tid, prev->tgid, preempt ? 0 : state_of(prev), now, counters);
  if (in) switched_in(in, in_tid, now, counters);
  if (counters->switches % SWITCHES_PER_TIMING == 0)
    counters->run_ns += (bpf_ktime_get_ns() - now - (counters->walk_ns - walked)) * SWITCHES_PER_TIMING;
  return 0;
}

/* At the end of a switch, in the thread that has got its CPU back and is still where it waited. No lock is held, and
 * interrupts come. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(thread_resumed) {
  u32 zero = 0, tid;
  struct off_cpu_counters* counters = bpf_map_lookup_elem(&off_cpu_counters, &zero);
  struct thread_account* account;
  struct stack_buffer* buffer;
  u64 now, walk_ns;
  if (!counters || !counters->walk_wanted) return 0;
  counters->walk_wanted = 0;
  tid = (u32)bpf_get_current_pid_tgid();
  account = account_of(tid);
  if (!account || account->stack_id != STACK_CHOSEN || !account->held_out_ns) return 0;
  buffer = buffer_of(BUFFER_SWITCH);
  if (!buffer) return 0;
  now = bpf_ktime_get_ns();
  walk_wait(ctx, buffer, 2, account, current_task(), account->pid, now);
  counters->walks++;
  walk_ns = bpf_ktime_get_ns() - now;
  counters->walk_ns += walk_ns;
  /* The thread had its CPU for the walk, and not for itself. */
  account->in_ns += walk_ns;
  if (account->state)
    account->waited_ns += walk_ns;
  else
    account->queued_ns += walk_ns;
  if (results_wanted && account->state != 0 && call_has_result(account->system_call))
    counters->expects_result = 1;
  else
    send_held_wait(account, tid, WAIT_NO_RESULT);
  return 0;
}

/* A new thread, or the first one of a new process: it waits for a CPU from now on. Those that were there
 * before the recording are entered by user space. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(thread_born, struct task_struct* parent, struct task_struct* child) {
  u32 parent_pid = parent->tgid, tid = child->pid;
  if (!is_recorded(parent_pid)) return 0;
  if (child->tgid != parent_pid && !follow_children) return 0;
  make_account(tid, child->tgid, 0, bpf_ktime_get_ns(), 0);
  return 0;
}

/* A program that was launched to be recorded: its first thread was born by us, and counts from here on. The
 * threads of other programs have their account already. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(thread_execed, struct task_struct* task, int old_pid) {
  u32 pid = task->tgid, tid = task->pid;
  if (!bpf_map_lookup_elem(&processes, &pid)) return 0;
  make_account(tid, pid, bpf_ktime_get_ns(), 0, 1);
  bpf_map_delete_elem(&key_distances, &pid); /* of the program before */
  return 0;
}

/* The sums of a thread, at the last moment at which they can be had. What it does after this is not counted.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_ended, struct task_struct* task) {
  u32 pid = task->tgid, tid = task->pid;
  struct off_cpu_event_thread_end event = {.kind = OFF_CPU_EVENT_THREAD_END};
  struct thread_account* account;
  account = account_of(tid);
  if (!account) return 0;
  event.time_ns = bpf_ktime_get_ns();
  event.tid = tid;
  event.pid = pid;
  event.ran_ns = account->ran_ns;
  if (account->in_ns && account->in_ns < event.time_ns) event.ran_ns += event.time_ns - account->in_ns;
  event.waited_ns = account->waited_ns;
  event.queued_ns = account->queued_ns;
  event.waits = account->waits;
  event.preemptions = account->preemptions;
  event.unwalked_waits = account->unwalked_waits;
  event.unwalked_ns = account->unwalked_ns;
  bpf_ringbuf_output(&off_cpu_ring, &event, sizeof(event), off_cpu_ring_flags());
  return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(thread_woken, struct task_struct* task) {
  struct thread_account* account = account_of(task->pid);
  struct stack_buffer* buffer;
  u64 now, waker;
  if (!account || !account->out_ns || account->woken_ns) return 0;
  now = bpf_ktime_get_ns();
  account->woken_ns = now;
  /* Chosen already here, so that wakers are walked of these only. */
  if (walks_when_over && account->stack_id == STACK_WHEN_OVER) {
    u32 zero = 0;
    struct off_cpu_counters* counters = bpf_map_lookup_elem(&off_cpu_counters, &zero);
    if (counters) choose_wait(account, counters, now - account->out_ns, now);
  }
  if (!account->stack_id) return 0; /* its identity will not be needed */
  waker = bpf_get_current_pid_tgid();
  account->waker_tid = (u32)waker;
  account->waker_pid = waker >> 32;
  if (!account->waker_pid || now - account->out_ns < waker_threshold_ns) return 0;
  buffer = buffer_of(BUFFER_WAKE_UP);
  if (!buffer) return 0;
  take_kernel_stack(ctx, buffer, 2);
  account->waker_stack_id = walk_in_kernel(AS_ARGUMENT(buffer), account->waker_pid, now);
  return 0;
}

/* The result of the call in which the current thread has just waited. Runs at the end of every system call of
 * the machine, so it asks first whether anything is expected on this CPU, and it is attached only while waits
 * in such calls are seen: the tracepoint alone was measured to cost 33 ns a call (2026-11). */
SEC("tp_btf/sys_exit")
int BPF_PROG(call_returned, struct pt_regs* regs, long result) {
  u32 zero = 0, tid;
  struct off_cpu_counters* counters = bpf_map_lookup_elem(&off_cpu_counters, &zero);
  struct thread_account* account;
  if (!counters || !counters->expects_result) return 0;
  counters->expects_result = 0;
  tid = (u32)bpf_get_current_pid_tgid();
  account = account_of(tid);
  if (account && account->held_out_ns) send_held_wait(account, tid, result);
  return 0;
}

/* Where a page fault of a recorded thread went: a wait in it is a wait for that page. */
SEC("tp_btf/page_fault_user")
int BPF_PROG(page_faulted, unsigned long address) {
  struct thread_account* account = account_of((u32)bpf_get_current_pid_tgid());
  if (account) account->fault_address = address;
  return 0;
}

/* Called by two events of each CPU: for each major fault, and for one of MINOR_FAULTS_PER_EVENT minor faults. */
SEC("perf_event")
int count_fault(struct bpf_perf_event_data* context) {
  struct off_cpu_event_fault event = {.kind = OFF_CPU_EVENT_FAULT};
  u64 id = bpf_get_current_pid_tgid();
  u32 pid = id >> 32, zero = 0;
  struct off_cpu_counters* counters;
  struct stack_buffer* buffer;
  if (!is_recorded(pid)) return 0;
  counters = bpf_map_lookup_elem(&off_cpu_counters, &zero);
  buffer = buffer_of(BUFFER_FAULT);
  if (!buffer || !counters) return 0;
  event.time_ns = bpf_ktime_get_ns();
  event.cpu = bpf_get_smp_processor_id();
  event.tid = (u32)id;
  event.pid = pid;
  event.weight = context->sample_period;
  event.major = event.weight == 1;
  event.address = context->addr;
  take_kernel_stack(context, buffer, 0); /* none, unless the kernel itself touched the page */
  event.stack_id = walk_in_kernel(AS_ARGUMENT(buffer), pid, event.time_ns);
  if (!event.stack_id || bpf_ringbuf_output(&off_cpu_ring, &event, sizeof(event), off_cpu_ring_flags()))
    counters->lost_faults++;
  return 0;
}

#endif
