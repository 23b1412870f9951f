/* Events that the user named: software and hardware events of perf, and tracepoints. Both kinds of program run with the kernel's
 * guard against nesting (bpf_prog_active), which the timer's program and that of page faults hold too, so that they can share a
 * buffer; an event inside of another one's program is not seen. */
#ifndef FATHOM_BPF_KERNEL_EVENTS_H
#define FATHOM_BPF_KERNEL_EVENTS_H

#include "base/abi/kernel_events.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* set before loading */
  __type(key, u32);
  __type(value, struct kernel_event_wanted);
} kernel_events_wanted SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1); /* set before loading */
  __type(key, u32);
  __type(value, struct kernel_event_state);
} kernel_event_states SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096); /* set before loading */
} kernel_event_ring SEC(".maps");

/* How many events the next one that is sent stands for: a busy CPU walks `budget` stacks in a window, chosen by chance, so that
 * events that take turns are all seen. */
static __always_inline u32 one_in_of_events(struct kernel_event_state* state, u32 budget, u64 now) {
  u32 most;
  if (now - state->window_ns > KERNEL_EVENT_WINDOW_NS) {
    state->in_last_window = now - state->window_ns < 2 * KERNEL_EVENT_WINDOW_NS ? state->in_window : 0;
    state->window_ns = now;
    state->in_window = 0;
  }
  state->in_window++;
  if (!budget) return 1;
  most = state->in_window > state->in_last_window ? state->in_window : state->in_last_window;
  return 1 + most / budget;
}

/* `value`: of this event, which counts for `count` of its kind. */
static __always_inline void take_event(void* context, u32 event, u64 count, s64 value, u64 now, u32 pid,
                                       const struct kernel_event_wanted* wanted,
                                       struct kernel_event_state* state) {
  struct kernel_event_record record = {.time_ns = now, .pid = pid, .event = event};
  struct stack_buffer* buffer;
  u32 one_in;
  state->count += count;
  state->value += value;
  one_in = one_in_of_events(state, wanted->budget, now);
  if (one_in > 1 && bpf_get_prandom_u32() % one_in != 0) return;
  buffer = buffer_of(BUFFER_FAULT);
  if (!buffer) return;
  record.value = value * one_in;
  record.tid = (u32)bpf_get_current_pid_tgid();
  record.cpu = bpf_get_smp_processor_id();
  take_kernel_stack(context, buffer, 0);
  record.stack_id = walk_in_kernel(AS_ARGUMENT(buffer), pid, now);
  if (bpf_ringbuf_output(&kernel_event_ring, &record, sizeof(record), BPF_RB_NO_WAKEUP))
    state->lost++;
  else
    state->sent++;
  state->run_ns += bpf_ktime_get_ns() - now;
}

SEC("perf_event")
int kernel_event_counted(struct bpf_perf_event_data* context) {
  u32 event = (u32)bpf_get_attach_cookie(context), pid = bpf_get_current_pid_tgid() >> 32;
  const struct kernel_event_wanted* wanted;
  struct kernel_event_state* state;
  u64 period;
  if (!is_recorded(pid)) return 0;
  wanted = bpf_map_lookup_elem(&kernel_events_wanted, &event);
  state = bpf_map_lookup_elem(&kernel_event_states, &event);
  if (!wanted || !state) return 0;
  period = context->sample_period;
  take_event(context, event, period, (s64)period, bpf_ktime_get_ns(), pid, wanted, state);
  return 0;
}

/* The record of a tracepoint begins with a pointer of the kernel's own, and its fields lie where the tracepoint's format says. */
SEC("tracepoint")
int kernel_event_passed(void* context) {
  u32 event = (u32)bpf_get_attach_cookie(context), pid = bpf_get_current_pid_tgid() >> 32, shift;
  const struct kernel_event_wanted* wanted;
  struct kernel_event_state* state;
  u64 value = 1;
  if (!is_recorded(pid)) return 0;
  wanted = bpf_map_lookup_elem(&kernel_events_wanted, &event);
  state = bpf_map_lookup_elem(&kernel_event_states, &event);
  if (!wanted || !state) return 0;
  if (wanted->field_size) {
    value = 0;
    bpf_probe_read_kernel(&value, 8, (const u8*)context + (wanted->field_offset & 0xfff));
    shift = (64 - 8 * wanted->field_size) & 63;
    value <<= shift;
    value = wanted->field_signed ? (u64)((s64)value >> shift) : value >> shift;
  }
  take_event(context, event, 1, (s64)value, bpf_ktime_get_ns(), pid, wanted, state);
  return 0;
}

#endif
