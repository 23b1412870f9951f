/* System calls of recorded threads, counted where they end: nothing is sent for a call. Of some the stack is walked, so that their
 * callers are known; those have an account of their own, by stack. */
#ifndef FATHOM_BPF_SYSTEM_CALLS_H
#define FATHOM_BPF_SYSTEM_CALLS_H

#include "base/abi/system_call_accounts.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1); /* set before loading */
  __type(key, struct system_call_key);
  __type(value, struct system_call_account);
} system_call_accounts SEC(".maps");

/* By tid. Threads that end in a call leave theirs, and the oldest goes when there is no room. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1); /* set before loading */
  __type(key, u32);
  __type(value, struct system_call_start);
} system_call_starts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1); /* set before loading */
  __type(key, struct file_key);
  __type(value, struct file_account);
} file_accounts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct system_call_counters);
} system_call_counters SEC(".maps");

/* Stacks in a window on one CPU. */
const volatile u32 system_call_budget = 20;

static __always_inline bool walks_system_call(struct system_call_counters* counters, u64 now) {
  u32 most;
  if (now - counters->window_ns > SYSTEM_CALL_WINDOW_NS) {
    counters->in_last_window =
        now - counters->window_ns < 2 * SYSTEM_CALL_WINDOW_NS ? counters->in_window : 0;
    counters->window_ns = now;
    counters->in_window = 0;
  }
  counters->in_window++;
  most = counters->in_window > counters->in_last_window ? counters->in_window : counters->in_last_window;
  most = 1 + most / system_call_budget;
  return most == 1 || bpf_get_prandom_u32() % most == 0;
}

static __always_inline struct system_call_account* system_call_account_of(struct system_call_key* key,
                                                                          u32 pid) {
  struct system_call_account* account = bpf_map_lookup_elem(&system_call_accounts, key);
  struct system_call_account fresh = {.pid = pid};
  if (account) return account;
  if (bpf_map_update_elem(&system_call_accounts, key, &fresh, BPF_NOEXIST)) {
    key->tid = 0;
    key->stack_id = 0;
    bpf_map_update_elem(&system_call_accounts, key, &fresh, BPF_NOEXIST);
  }
  return bpf_map_lookup_elem(&system_call_accounts, key);
}

/* The file behind the first argument of a call that has just moved bytes. */
static __always_inline void count_file(struct pt_regs* regs, u32 pid, u32 number, s64 result, u64 took) {
  struct task_struct* task = current_task();
  struct file_key key = {.pid = pid, .number = number};
  struct file_account fresh = {};
  struct file_account* account;
  struct file** table;
  struct file* file = 0;
  struct inode* inode;
  u64 descriptor = ~0ull;
  bpf_probe_read_kernel(&descriptor, 8, &CALL_ARGUMENT_0(regs));
  if (descriptor >= BPF_CORE_READ(task, files, fdt, max_fds)) return;
  table = BPF_CORE_READ(task, files, fdt, fd);
  bpf_probe_read_kernel(&file, 8, table + descriptor);
  if (!file) return;
  inode = BPF_CORE_READ(file, f_inode);
  key.inode = BPF_CORE_READ(inode, i_ino);
  key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  account = bpf_map_lookup_elem(&file_accounts, &key);
  if (!account) {
    fresh.descriptor = (u32)descriptor;
    fresh.mode = BPF_CORE_READ(inode, i_mode) & 0170000;
    bpf_map_update_elem(&file_accounts, &key, &fresh, BPF_NOEXIST);
    account = bpf_map_lookup_elem(&file_accounts, &key);
    if (!account) return;
  }
  __sync_fetch_and_add(&account->calls, 1);
  __sync_fetch_and_add(&account->total_ns, took);
  if (result < 0)
    __sync_fetch_and_add(&account->errors, 1);
  else
    __sync_fetch_and_add(&account->bytes, result);
  if (took > account->longest_ns) account->longest_ns = took;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(system_call_entered, struct pt_regs* regs, long number) {
  u64 id = bpf_get_current_pid_tgid();
  u32 tid = (u32)id;
  struct system_call_start fresh = {.number = number};
  struct system_call_start* start;
  if (!is_recorded(id >> 32)) return 0;
  /* Only the thread itself writes its entry, and an update of the table costs more than the rest of this program. */
  start = bpf_map_lookup_elem(&system_call_starts, &tid);
  if (start) {
    start->number = number;
    start->start_ns = bpf_ktime_get_ns();
    return 0;
  }
  fresh.start_ns = bpf_ktime_get_ns();
  bpf_map_update_elem(&system_call_starts, &tid, &fresh, BPF_ANY);
  return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(system_call_left, struct pt_regs* regs, long result) {
  u64 id = bpf_get_current_pid_tgid(), now, took;
  u32 pid = id >> 32, tid = (u32)id, zero = 0;
  struct system_call_key key = {.tid = tid};
  struct system_call_counters* counters;
  struct system_call_account* account;
  struct system_call_start* start;
  struct stack_buffer* buffer;
  bool failed = result < 0 && result > -4096, moves;
  start = bpf_map_lookup_elem(&system_call_starts, &tid); /* of recorded threads only */
  if (!start) return 0;
  now = bpf_ktime_get_ns();
  counters = bpf_map_lookup_elem(&system_call_counters, &zero);
  if (!start->start_ns || !counters) return 0;
  took = now - start->start_ns;
  key.number = start->number;
  start->start_ns = 0;
  counters->calls++;
  moves = call_moves_bytes((s32)key.number);
  if (walks_system_call(counters, now)) {
    buffer = buffer_of(BUFFER_MAPPING);
    if (buffer) {
      buffer->header.kernel_count = 0;
      buffer->header.kernel_truncated = 0;
      key.stack_id = walk_in_kernel(AS_ARGUMENT(buffer), pid, now);
    }
  }
  account = system_call_account_of(&key, pid);
  if (!account) {
    counters->lost++;
    return 0;
  }
  __sync_fetch_and_add(&account->calls, 1);
  __sync_fetch_and_add(&account->total_ns, took);
  if (failed)
    __sync_fetch_and_add(&account->errors, 1);
  else if (moves)
    __sync_fetch_and_add(&account->bytes, result);
  if (took > account->longest_ns) account->longest_ns = took; /* of one thread, so of one CPU at a time */
  if (moves) count_file(regs, pid, key.number, result, took);
  counters->run_ns += bpf_ktime_get_ns() - now;
  return 0;
}

#endif
