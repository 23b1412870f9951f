/* Calls of functions that the user asked for: a breakpoint of the kernel (uprobe) at the function's start, and one at each place
 * where it can be left. Nothing is sent for a call: it is booked on the account of its function and stack, so none is lost for
 * want of room in a ring. The alternative, uretprobes, writes an address of the kernel's over the return address, and every walk
 * of that stack would have to put the real one back.
 *
 * A call and its end belong together by the stack pointer, which both see at the return address: so recursion, and coroutines
 * that change threads, are told apart. A call that is left by an exception or longjmp has no end; the next one with the same
 * stack pointer takes its place. */
#ifndef FATHOM_BPF_PROBES_H
#define FATHOM_BPF_PROBES_H

#include "base/abi/probe_accounts.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, MAX_PROBES);
  __type(key, u32);
  __type(value, struct probe_wanted);
} probes_wanted SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1); /* set before loading */
  __type(key, struct probe_key);
  __type(value, struct probe_account);
} probe_accounts SEC(".maps");

/* The calls that are in progress. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1); /* set before loading */
  __type(key, struct probe_call_key);
  __type(value, struct probe_call);
} probe_calls SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PROBE_BUFFERS);
  __type(key, u32);
  __type(value, u64);
} probe_buffers_taken SEC(".maps");

/* Added to as if other CPUs did: another thread may come in between. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct probe_counters);
} probe_counters SEC(".maps");

/* Calls of probes that want spans, one record each: the one thing of a call that is sent. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096); /* set before loading */
} probe_span_ring SEC(".maps");

/* Calls that are walked and timed in a tenth of a second, on all CPUs together. */
const volatile u32 probe_budget = 2000;
u64 probe_window_ns = 0, probes_in_window = 0;

/* Breakpoints are taken out one after the other, which takes the kernel seconds on a busy machine, and those at the ends go as soon
 * as those at the starts. From the end of the recording on no call is counted whose end might not be seen. */
u32 probes_ended = 0;

const volatile u8 word_of_argument[FUNCTION_ARGUMENTS] = WORDS_OF_ARGUMENTS;

/* Two CPUs that begin a window at the same moment let a few calls more through. */
static __always_inline bool is_beyond_budget(u64 now) {
  if (now - *(volatile u64*)&probe_window_ns > PROBE_WINDOW_NS) {
    *(volatile u64*)&probe_window_ns = now;
    *(volatile u64*)&probes_in_window = 0;
  }
  return __sync_fetch_and_add(&probes_in_window, 1) >= probe_budget;
}

/* Makes the account at its first use; 0: there is no room. */
static __always_inline struct probe_account* probe_account_of(u32 pid, u32 probe, u64 stack_id) {
  struct probe_key key = {.pid = pid, .probe = probe, .stack_id = stack_id};
  struct probe_account fresh = {};
  struct probe_account* account = bpf_map_lookup_elem(&probe_accounts, &key);
  if (account) return account;
  bpf_map_update_elem(&probe_accounts, &key, &fresh, BPF_NOEXIST);
  return bpf_map_lookup_elem(&probe_accounts, &key);
}

/* A call that is counted and no more. Its end is not to be taken for that of an older call, which was left without one. */
static __always_inline void count_only(const struct probe_call_key* key, struct probe_counters* counters) {
  struct probe_account* account = probe_account_of(key->pid, key->probe, 0);
  bpf_map_delete_elem(&probe_calls, key);
  if (!account) {
    __sync_fetch_and_add(&counters->calls_lost, 1);
    return;
  }
  __sync_fetch_and_add(&account->calls, 1);
  __sync_fetch_and_add(&account->counted_only, 1);
}

/* A negative value is an error and not a size; so is a negative 32-bit number, whose upper half is undefined. */
static __always_inline void add_size(struct probe_account* account, s64 size) {
  if (size < 0 || (size >> 31) == 1) return;
  __sync_fetch_and_add(&account->sized, 1);
  __sync_fetch_and_add(&account->bytes, size);
}

/* `number`: of the value of a place, in probe_values. Not 0: there is none, or it could not be read. */
static __always_inline int read_entry_value(const struct probe_wanted* wanted, u32 number, u64* value) {
  struct pt_regs* regs = entry_registers(current_task());
  u32 argument = wanted->argument;
  if (wanted->size == PROBE_SIZE_VALUE) return read_probe_value(number, value);
  if (wanted->size != PROBE_SIZE_ARGUMENT && wanted->size != PROBE_SIZE_POINTED) return -1;
  if (argument >= FUNCTION_ARGUMENTS) return -1;
  if (bpf_probe_read_kernel(value, 8, (const u64*)regs + word_of_argument[argument])) return -1;
  if (wanted->size == PROBE_SIZE_POINTED &&
      bpf_probe_read_user(value, 8, (const void*)(*value + wanted->offset)))
    return -1;
  return 0;
}

/* The stack of the call, walked by what walks those of waits, too. 0: there is none. */
static __always_inline u64 walk_at_probe(u32 pid, u64 now, struct probe_counters* counters) {
  u64 stack_id = 0;
#pragma unroll
  for (u32 i = 0; i < PROBE_BUFFERS; i++) {
    u32 slot = i;
    u64* taken = bpf_map_lookup_elem(&probe_buffers_taken, &slot);
    struct stack_buffer* buffer = buffer_of(BUFFER_PROBE + i);
    if (!taken || !buffer || __sync_val_compare_and_swap(taken, 0, 1)) continue;
    buffer->header.kernel_count = 0;
    buffer->header.kernel_truncated = 0;
    stack_id = walk_in_kernel(AS_ARGUMENT(buffer), pid, now);
    *(volatile u64*)taken = 0;
    break;
  }
  if (!stack_id) __sync_fetch_and_add(&counters->stacks_lost, 1);
  return stack_id;
}

static __always_inline void send_span(const struct probe_call* call, u64 end_ns, u32 pid, u32 probe,
                                      struct probe_counters* counters) {
  u32 tid = (u32)bpf_get_current_pid_tgid();
  struct probe_span span = {.start_ns = call->start_ns, .end_ns = end_ns, .pid = pid, .probe = probe};
  span.tid = call->tid == tid ? tid : 0;
  if (bpf_ringbuf_output(&probe_span_ring, &span, sizeof(span), 0))
    __sync_fetch_and_add(&counters->spans_lost, 1);
}

/* A span that begins or ends with a call, and is known by a value. Beyond the limit of walks, too: a begin without its end would be
 * taken for that of a later span. */
static __always_inline void mark_span(const struct probe_wanted* wanted, u64 value, u64 now, u32 pid,
                                      u32 probe, struct probe_counters* counters) {
  struct probe_call_key key = {.stack_pointer = value, .pid = pid, .probe = probe};
  struct probe_call begin = {.start_ns = now, .tid = (u32)bpf_get_current_pid_tgid()};
  struct probe_call* begun;
  if (wanted->span == PROBE_SPAN_BEGIN) {
    if (bpf_map_update_elem(&probe_calls, &key, &begin, BPF_ANY))
      __sync_fetch_and_add(&counters->spans_lost, 1);
    return;
  }
  key.probe = probe - 1;
  begun = bpf_map_lookup_elem(&probe_calls, &key);
  if (!begun) return; /* it began before the recording */
  send_span(begun, now, pid, key.probe, counters);
  bpf_map_delete_elem(&probe_calls, &key);
}

SEC("uprobe")
int probe_entered(struct pt_regs* regs) {
  u64 now = bpf_ktime_get_ns();
  u32 pid = bpf_get_current_pid_tgid() >> 32, zero = 0;
  u64 cookie = bpf_get_attach_cookie(regs);
  u32 probe = cookie & PROBE_COOKIE_NUMBER;
  struct probe_call_key key = {.stack_pointer = REGISTERS_SP(regs), .pid = pid, .probe = probe};
  const struct probe_wanted* wanted;
  struct probe_counters* counters;
  struct probe_account* account;
  struct probe_call call = {};
  u64 value = 0;
  bool has_value;
  if (*(volatile u32*)&probes_ended || !is_recorded(pid)) return 0;
  counters = bpf_map_lookup_elem(&probe_counters, &zero);
  wanted = bpf_map_lookup_elem(&probes_wanted, &probe);
  if (!counters || !wanted) return 0;
  __sync_fetch_and_add(&counters->hits, 1);
  has_value = !read_entry_value(wanted, cookie >> PROBE_COOKIE_VALUE, &value);
  if (wanted->span >= PROBE_SPAN_BEGIN) {
    if (wanted->size == PROBE_SIZE_NONE) value = (u32)bpf_get_current_pid_tgid();
    if (has_value || wanted->size == PROBE_SIZE_NONE) mark_span(wanted, value, now, pid, probe, counters);
    has_value = 0; /* it is no size */
  }
  if (is_beyond_budget(now)) {
    count_only(&key, counters);
    return 0;
  }
  call.stack_id = walk_at_probe(pid, now, counters);
  account = probe_account_of(pid, probe, call.stack_id);
  if (!account) {
    count_only(&key, counters);
    return 0;
  }
  __sync_fetch_and_add(&account->calls, 1);
  if (has_value) add_size(account, (s64)value);
  call.tid = (u32)bpf_get_current_pid_tgid();
  call.start_ns = bpf_ktime_get_ns(); /* the walk is no part of the call */
  __sync_fetch_and_add(&counters->run_ns, call.start_ns - now);
  if (!wanted->timed) return 0;
  if (bpf_map_update_elem(&probe_calls, &key, &call, BPF_ANY))
    __sync_fetch_and_add(&account->counted_only, 1);
  return 0;
}

SEC("uprobe")
int probe_left(struct pt_regs* regs) {
  u64 now = bpf_ktime_get_ns(), took, longest;
  u64 cookie = bpf_get_attach_cookie(regs);
  u32 pid = bpf_get_current_pid_tgid() >> 32, probe = cookie & PROBE_COOKIE_NUMBER, zero = 0;
  struct probe_call_key key = {.stack_pointer = REGISTERS_SP(regs), .pid = pid, .probe = probe};
  struct probe_key at = {.pid = pid, .probe = probe};
  const struct probe_wanted* wanted;
  struct probe_counters* counters;
  struct probe_account* account;
  struct probe_call* call;
  if (!is_recorded(pid)) return 0;
  if ((cookie & PROBE_COOKIE_CONDITIONAL) &&
      !jump_is_taken(REGISTERS_FLAGS(regs), cookie >> PROBE_COOKIE_CONDITION))
    return 0;
  counters = bpf_map_lookup_elem(&probe_counters, &zero);
  wanted = bpf_map_lookup_elem(&probes_wanted, &probe);
  if (!counters || !wanted) return 0;
  __sync_fetch_and_add(&counters->hits, 1);
  call = bpf_map_lookup_elem(&probe_calls, &key);
  if (!call) return 0; /* it began before the recording, or was counted only */
  at.stack_id = call->stack_id;
  took = now - call->start_ns;
  if (wanted->span == PROBE_SPAN_CALL) send_span(call, now, pid, probe, counters);
  bpf_map_delete_elem(&probe_calls, &key);
  account = bpf_map_lookup_elem(&probe_accounts, &at);
  if (!account) return 0;
  __sync_fetch_and_add(&account->returned, 1);
  __sync_fetch_and_add(&account->total_ns, took);
  longest = *(volatile u64*)&account->longest_ns;
#pragma unroll 1
  for (int i = 0; i < 4; i++) { /* another CPU may raise it at the same time */
    u64 seen;
    if (longest >= took) break;
    seen = __sync_val_compare_and_swap(&account->longest_ns, longest, took);
    if (seen == longest) break;
    longest = seen;
  }
  if (wanted->size == PROBE_SIZE_RESULT && (cookie & PROBE_COOKIE_RETURNS)) {
    struct pt_regs* all = entry_registers(current_task());
    u64 value;
    if (!bpf_probe_read_kernel(&value, 8, (const u64*)all + WORD_OF_RESULT)) add_size(account, (s64)value);
  }
  __sync_fetch_and_add(&counters->run_ns, bpf_ktime_get_ns() - now);
  return 0;
}

#endif
