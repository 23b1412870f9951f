/* Where a recorded process was when a signal ended it: the thread that takes the signal still has its stack then, which it has not when it
 * exits. A thread that faults or aborts takes its own signal, so its stack shows the reason. Only signals that dump core come here: of
 * others the kernel makes a SIGKILL for all threads when they are sent. */
#ifndef FATHOM_BPF_FATAL_SIGNALS_H
#define FATHOM_BPF_FATAL_SIGNALS_H

#define SIGNAL_KILL 9 /* is taken by every thread, wherever it is */
#define FIRST_REAL_TIME_SIGNAL 32
/* SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH: ignored, or the process stops. */
#define SIGNALS_THAT_END_NOTHING \
  (1u << 17 | 1u << 18 | 1u << 19 | 1u << 20 | 1u << 21 | 1u << 22 | 1u << 23 | 1u << 28)

static __always_inline bool ends_by_default(int signal) {
  if (signal <= 0 || signal == SIGNAL_KILL) return 0;
  return signal >= FIRST_REAL_TIME_SIGNAL || (SIGNALS_THAT_END_NOTHING >> (signal & 31) & 1) == 0;
}

/* Walks into the buffer of calls that map memory, which is free: such a call has ended before its thread takes a signal. The stack's
 * number, or 0. */
static __always_inline u64 send_last_stack(struct stack_buffer* buffer, u32 pid, u64 now) {
  u32 count;
  buffer->header.kernel_count = 0;
  buffer->header.kernel_truncated = 0;
  if (!walk_from_entry(buffer, pid, now, &exit_ring)) return 0;
  count = frames_kept(buffer);
  if (count > FRAME_SLOTS) return 0;
  if (bpf_ringbuf_output(&exit_ring, buffer, sizeof(buffer->header) + count * 8, BPF_RB_NO_WAKEUP)) return 0;
  return buffer->header.stack_id;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(signal_taken, int signal, struct kernel_siginfo* info, struct k_sigaction* action) {
  u64 id = bpf_get_current_pid_tgid();
  struct cpu_event_fatal_signal event = {.kind = CPU_EVENT_FATAL_SIGNAL, .pid = id >> 32, .tid = (u32)id};
  struct stack_buffer* buffer;
  if (!ends_by_default(signal) || !is_recorded(event.pid)) return 0;
  if (BPF_CORE_READ(action, sa.sa_handler)) return 0;
  event.signal = signal;
  event.time_ns = bpf_ktime_get_ns();
  event.code = BPF_CORE_READ(info, si_code);
  if (event.code > 0)
    event.address = (u64)BPF_CORE_READ(info, _sifields._sigfault._addr);
  else
    event.sender = BPF_CORE_READ(info, _sifields._kill._pid);
  bpf_probe_read_kernel(&event.stack_pointer, 8, &REGISTERS_SP(entry_registers(current_task())));
  buffer = buffer_of(BUFFER_MAPPING);
  if (buffer) event.stack_id = send_last_stack(buffer, event.pid, event.time_ns);
  bpf_ringbuf_output(&exit_ring, &event, sizeof(event), BPF_RB_NO_WAKEUP);
  return 0;
}

#endif
