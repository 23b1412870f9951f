/* CPU sampling: one timer event per CPU runs this program wherever it hits. */
#ifndef FATHOM_BPF_CPU_H
#define FATHOM_BPF_CPU_H

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 22); /* set before loading */
} cpu_ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, SEEN_SLOTS);
  __type(key, u32);
  __type(value, u64);
} cpu_seen SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cpu_counters);
} cpu_counters SEC(".maps");

/* User space looks at the ring on its own clock; it is woken early only when the ring fills up. */
const volatile u64 cpu_ring_wakeup_bytes = 1 << 20;

static __always_inline u64 cpu_ring_flags(void) {
  return bpf_ringbuf_query(&cpu_ring, BPF_RB_AVAIL_DATA) >= cpu_ring_wakeup_bytes ? BPF_RB_FORCE_WAKEUP
                                                                                  : BPF_RB_NO_WAKEUP;
}

/* Sends the stack unless it was sent lately. */
static __always_inline void send_new_stack(struct stack_buffer* buffer, struct cpu_counters* counters) {
  u32 slot = (u32)buffer->header.stack_id & (SEEN_SLOTS - 1);
  u64* seen = bpf_map_lookup_elem(&cpu_seen, &slot);
  u32 count = frames_kept(buffer);
  if (!seen || *seen == buffer->header.stack_id) return;
  if (count > FRAME_SLOTS) return;
  if (bpf_ringbuf_output(&cpu_ring, buffer, sizeof(buffer->header) + count * 8, cpu_ring_flags()) == 0) {
    *seen = buffer->header.stack_id;
    counters->stacks_sent++;
  } else {
    counters->stacks_not_sent++;
  }
}

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data* context) {
  u64 id = bpf_get_current_pid_tgid();
  u32 pid = id >> 32, zero = 0, mapping_count;
  struct tracked_process* process;
  struct cpu_counters* counters;
  struct stack_buffer* buffer;
  struct task_struct* task;
  struct cpu_event_sample sample = {.kind = CPU_EVENT_SAMPLE};
  struct step_walk* w;
  long kernel_bytes;

  if (pid == 0) return 0;
  process = bpf_map_lookup_elem(&processes, &pid);
  if (!process || process->waits_for_exec) return 0;
  counters = bpf_map_lookup_elem(&cpu_counters, &zero);
  buffer = buffer_of(BUFFER_SAMPLE);
  if (!counters || !buffer) return 0;

  sample.time_ns = bpf_ktime_get_ns();
  counters->samples++;
  buffer->header.kind = CPU_EVENT_STACK;
  buffer->header.pid = pid;
  buffer->header.epoch = current_epoch(pid, process, &mapping_count);
  buffer->header.time_ns = sample.time_ns;
  buffer->header.user_count = 0;
  buffer->header.kernel_count = 0;
  buffer->header.kernel_truncated = 0;

  kernel_bytes = bpf_get_stack(context, buffer->frames, MAX_KERNEL_FRAMES * 8, 0);
  if (kernel_bytes > 0) {
    buffer->header.kernel_count = kernel_bytes / 8;
    if (kernel_bytes == MAX_KERNEL_FRAMES * 8) {
      buffer->header.kernel_truncated = 1;
      counters->kernel_truncated++;
    }
  }

  buffer->header.stack_id = hash_kernel_stack(AS_ARGUMENT(buffer));

  task = current_task();
  w = begin_walk(buffer);
  if (FIELD_OF_TASK(task, flags) & PF_KTHREAD) {
    buffer->header.end = WALK_KERNEL_THREAD;
  } else if (!BPF_CORE_READ(task, mm)) {
    buffer->header.end = WALK_EXITING;
  } else if (IS_32_BIT(user_registers(&context->regs, w))) {
    buffer->header.end = WALK_UNSUPPORTED; /* 32-bit code */
  } else if (mapping_count == 0) {
    buffer->header.end = WALK_NO_TABLE;
    buffer->frames[buffer->header.kernel_count & (FRAME_SLOTS - 1)] = w->pc | WALK_EXACT;
    buffer->header.user_count = 1;
    buffer->header.stack_id = hash_word(buffer->header.stack_id, w->pc);
  } else {
    w->mapping_first = process->mapping_first;
    w->mapping_count = mapping_count;
    buffer->header.end = walk_user_stack(AS_ARGUMENT(buffer));
  }

  buffer->header.stack_id = hash_word(buffer->header.stack_id, buffer->header.end);
  if (wants_copy(buffer, process, &cpu_ring)) {
    user_registers(&context->regs, w);
    copy_stack(AS_ARGUMENT(buffer));
  }
  send_new_stack(buffer, counters);

  sample.end = buffer->header.end;
  sample.cpu = bpf_get_smp_processor_id();
  sample.tid = (u32)id;
  sample.stack_id = buffer->header.stack_id;
  if (bpf_ringbuf_output(&cpu_ring, &sample, sizeof(sample), cpu_ring_flags())) counters->lost_ring_full++;
  counters->runs++;
  counters->run_ns += bpf_ktime_get_ns() - sample.time_ns;
  return 0;
}

#endif
