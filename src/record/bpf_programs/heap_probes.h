/* The target's own probes of its heap (otel_memory): it samples by itself and tells of each sampled block at a place with a
 * breakpoint of the kernel. Nothing is mapped into it, and no code of it is changed by us. */
#ifndef FATHOM_BPF_HEAP_PROBES_H
#define FATHOM_BPF_HEAP_PROBES_H

#include "base/abi/heap_probe_events.h"

/* By pid; made by user space before the first breakpoint, so a process that is not in it is none of ours. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1); /* MAX_PROCESSES, set before loading */
  __type(key, u32);
  __type(value, struct heap_probe_counters);
} heap_probe_sums SEC(".maps");

/* By pid: the current round of listening. A breakpoint is gone only when its last descriptor is, and a child of ours that has
 * not executed its program yet has copies: until then it would report the next program's events a second time. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1); /* MAX_PROCESSES, set before loading */
  __type(key, u32);
  __type(value, u32);
} heap_probe_rounds SEC(".maps");

static __always_inline int is_of_this_round(u32 pid, u64 cookie) {
  const u32* round = bpf_map_lookup_elem(&heap_probe_rounds, &pid);
  return round && *round == (u32)cookie;
}

static __always_inline int send_heap_event(const struct heap_probe_event* event) {
  return bpf_ringbuf_output(&off_cpu_ring, (void*)event, sizeof(*event), off_cpu_ring_flags()) != 0;
}

/* Above the limit, which is that of probed functions, an allocation is reported without its stack: so the program's total stays
 * correct. */
SEC("uprobe")
int heap_probe_alloc(struct pt_regs* regs) {
  u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(regs);
  u32 pid = id >> 32, number = cookie >> PROBE_COOKIE_VALUE, zero = 0;
  struct heap_probe_event event = {.kind = HEAP_PROBE_EVENT_ALLOC, .pid = pid, .tid = (u32)id};
  struct heap_probe_counters* sums;
  struct probe_counters* counters;
  if (!is_recorded(pid) || !is_of_this_round(pid, cookie)) return 0;
  sums = bpf_map_lookup_elem(&heap_probe_sums, &pid);
  counters = bpf_map_lookup_elem(&probe_counters, &zero);
  if (!sums || !counters) return 0;
  __sync_fetch_and_add(&sums->allocs, 1);
  if (read_probe_value(number, &event.block) || read_probe_value(number + 1, &event.size) ||
      read_probe_value(number + 2, &event.weight)) {
    __sync_fetch_and_add(&sums->unread, 1);
    return 0;
  }
  event.time_ns = now;
  if (!is_beyond_budget(now)) event.stack_id = walk_at_probe(pid, now, counters);
  if (!event.stack_id) __sync_fetch_and_add(&sums->unwalked, 1);
  if (send_heap_event(&event)) {
    __sync_fetch_and_add(&sums->lost_allocs, 1);
    __sync_fetch_and_add(&sums->lost_weight, event.weight);
  }
  __sync_fetch_and_add(&sums->run_ns, bpf_ktime_get_ns() - now);
  return 0;
}

SEC("uprobe")
int heap_probe_free(struct pt_regs* regs) {
  u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(regs);
  u32 pid = id >> 32, number = cookie >> PROBE_COOKIE_VALUE;
  struct heap_probe_event event = {.kind = HEAP_PROBE_EVENT_FREE, .pid = pid, .tid = (u32)id};
  struct heap_probe_counters* sums;
  if (!is_recorded(pid) || !is_of_this_round(pid, cookie)) return 0;
  sums = bpf_map_lookup_elem(&heap_probe_sums, &pid);
  if (!sums) return 0;
  __sync_fetch_and_add(&sums->frees, 1);
  event.time_ns = now;
  if (read_probe_value(number, &event.block))
    __sync_fetch_and_add(&sums->unread, 1);
  else if (send_heap_event(&event))
    __sync_fetch_and_add(&sums->lost_frees, 1);
  __sync_fetch_and_add(&sums->run_ns, bpf_ktime_get_ns() - now);
  return 0;
}

#endif
