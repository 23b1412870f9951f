/* The accounts of the recorded threads: what is known of the present run or wait of each, and its sums. */
#ifndef FATHOM_BPF_THREAD_ACCOUNTS_H
#define FATHOM_BPF_THREAD_ACCOUNTS_H

#include "base/abi/off_cpu_events.h"

/* User space maps it, to enter threads and to read sums. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, ACCOUNTS);
  __type(key, u32);
  __type(value, struct thread_account);
} thread_accounts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, CROWDED_ACCOUNTS);
  __type(key, u32);
  __type(value, struct thread_account);
} crowded_accounts SEC(".maps");

/* Not 0 once an account had to be made there. */
volatile u32 is_crowded = 0;

/* The account of a recorded thread, or 0: most threads of the machine have none, and end with one load. */
#if BEFORE_LINUX_5_15
/* Before 5.12 a program cannot compare and exchange, so no place of the array can be taken; the hash table does that by itself. */
static __always_inline struct thread_account* account_of(u32 tid) {
  return bpf_map_lookup_elem(&crowded_accounts, &tid);
}

static __always_inline void make_account(u32 tid, u32 pid, u64 in_ns, u64 out_ns, bool keep) {
  struct thread_account fresh = {.tid = tid, .pid = pid, .in_ns = in_ns, .out_ns = out_ns};
  bpf_map_update_elem(&crowded_accounts, &tid, &fresh, keep ? BPF_NOEXIST : BPF_ANY);
}

static __always_inline void drop_account(struct thread_account* account, u32 tid) {
  bpf_map_delete_elem(&crowded_accounts, &tid);
}
#else
static __always_inline struct thread_account* account_of(u32 tid) {
  u32 place = tid & (ACCOUNTS - 1);
  struct thread_account* account = bpf_map_lookup_elem(&thread_accounts, &place);
  if (account && account->tid == tid) return account;
  return is_crowded ? bpf_map_lookup_elem(&crowded_accounts, &tid) : 0;
}

/* Makes an account for a thread that has not run yet, or has just begun a program. What is left of an older
 * thread with the same number is overwritten, unless `keep`. */
static __always_inline void make_account(u32 tid, u32 pid, u64 in_ns, u64 out_ns, bool keep) {
  u32 place = tid & (ACCOUNTS - 1);
  struct thread_account* account = bpf_map_lookup_elem(&thread_accounts, &place);
  struct thread_account fresh = {};
  if (!account) return;
  if (account->tid == tid && keep) return;
  fresh.pid = pid;
  fresh.in_ns = in_ns;
  fresh.out_ns = out_ns;
  if (account->tid == tid || __sync_val_compare_and_swap(&account->tid, 0, ACCOUNT_TAKEN) == 0) {
    fresh.tid = ACCOUNT_TAKEN;
    *account = fresh;
    *(volatile u32*)&account->tid = tid;
    return;
  }
  fresh.tid = tid;
  is_crowded = 1;
  bpf_map_update_elem(&crowded_accounts, &tid, &fresh, keep ? BPF_NOEXIST : BPF_ANY);
}

static __always_inline void drop_account(struct thread_account* account, u32 tid) {
  u32 place = tid & (ACCOUNTS - 1);
  if (account == bpf_map_lookup_elem(&thread_accounts, &place))
    *(volatile u32*)&account->tid = 0;
  else
    bpf_map_delete_elem(&crowded_accounts, &tid);
}
#endif

#endif
