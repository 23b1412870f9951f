/* What a thread waits for: the system call with its arguments, the file or peer behind its descriptor, the lock, or the
 * quota that stops it. */
#ifndef FATHOM_BPF_WAIT_CAUSES_H
#define FATHOM_BPF_WAIT_CAUSES_H

#include "base/abi/off_cpu_events.h"
#include "base/arch/call_numbers.h"

/* By pid: where a parked thread keeps the address of the lock that it waits for, in bytes from its futex word. User space
 * enters a process when it has proved the distance. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MAX_KEY_DISTANCES);
  __type(key, u32);
  __type(value, s32);
} key_distances SEC(".maps");

/* What the thread waits for, as far as its registers and files show. */
static __always_inline void note_cause(struct thread_account* account, struct task_struct* task) {
  struct pt_regs* regs = entry_registers(task);
  long number = -1;
  bpf_probe_read_kernel(&number, 8, &CALL_NUMBER(regs));
  account->system_call = number >= 0 && number < 4096 ? (s32)number : -1;
  bpf_probe_read_kernel(&account->arguments[0], 8, &CALL_ARGUMENT_0(regs));
  bpf_probe_read_kernel(&account->arguments[1], 8, &CALL_ARGUMENT_1(regs));
  bpf_probe_read_kernel(&account->arguments[2], 8, &CALL_ARGUMENT_2(regs));
  bpf_probe_read_kernel(&account->arguments[3], 8, &CALL_ARGUMENT_3(regs));
}

/* The key under which a parked thread queues: read now, as it changes with the thread's next wait. */
static __always_inline void note_lock_key(struct thread_account* account, u32 pid) {
  const s32* distance;
  account->lock_key = 0;
  if (account->system_call != CALL_FUTEX || account->arguments[1] != PARKER_WAITS ||
      (u32)account->arguments[2] != PARKER_PARKED)
    return;
  distance = bpf_map_lookup_elem(&key_distances, &pid);
  if (distance && bpf_probe_read_user(&account->lock_key, 8, (void*)(account->arguments[0] + *distance)))
    account->lock_key = 0;
}

struct polled_file {
  int descriptor;
  short wanted, seen;
};

/* The descriptor whose file the thread waits for, or ~0. A poll or a select of one file waits for that one. */
static __always_inline u64 awaited_descriptor(const struct thread_account* account) {
  const u64* arguments = account->arguments;
  struct polled_file polled;
  u64 set;
  switch (account->system_call) {
    case CALL_POLL:
    case CALL_PPOLL:
      if (arguments[1] != 1 || bpf_probe_read_user(&polled, sizeof(polled), (void*)arguments[0]))
        return ~0ull;
      return (u32)polled.descriptor;
    case CALL_SELECT:
    case CALL_PSELECT6:
      /* Programs pass the largest descriptor plus one, and most wait to read only. */
      if (arguments[0] < 1 || arguments[0] > 64 || arguments[2] ||
          bpf_probe_read_user(&set, sizeof(set), (void*)arguments[1]) || set != 1ull << (arguments[0] - 1))
        return ~0ull;
      return arguments[0] - 1;
    default:
      return arguments[0];
  }
}

/* The file behind a descriptor: its identity, and the peer if it is an internet socket. Global: verified
 * once. */
SHARED_FUNCTION int note_file(struct thread_account* account) {
  struct task_struct* task = current_task();
  struct file** table;
  struct file* file = 0;
  struct inode* inode;
  u64 number;
  u32 limit;
  if (!account) return 0;
  account->inode = 0;
  account->device = 0;
  account->file_mode = 0;
  account->peer_family = 0;
  account->socket_state = 0;
  if (account->system_call < 0) return 0;
  number = awaited_descriptor(account);
  limit = BPF_CORE_READ(task, files, fdt, max_fds);
  if (number >= limit) return 0;
  table = BPF_CORE_READ(task, files, fdt, fd);
  bpf_probe_read_kernel(&file, 8, table + number);
  if (!file) return 0;
  inode = BPF_CORE_READ(file, f_inode);
  account->inode = BPF_CORE_READ(inode, i_ino);
  account->device = BPF_CORE_READ(inode, i_sb, s_dev);
  account->file_mode = BPF_CORE_READ(inode, i_mode) & 0170000;
  if (account->file_mode == 0140000) {
    struct socket* socket = BPF_CORE_READ(file, private_data);
    struct sock* sock = BPF_CORE_READ(socket, sk);
    account->peer_family = BPF_CORE_READ(sock, __sk_common.skc_family);
    if (account->peer_family == 10 && bpf_core_field_exists(sock->__sk_common.skc_v6_daddr))
      bpf_probe_read_kernel(account->peer_address, 16, &sock->__sk_common.skc_v6_daddr);
    else
      bpf_probe_read_kernel(account->peer_address, 4, &sock->__sk_common.skc_daddr);
    account->peer_port = __builtin_bswap16(BPF_CORE_READ(sock, __sk_common.skc_dport));
    account->local_port = BPF_CORE_READ(sock, __sk_common.skc_num);
    account->socket_state = BPF_CORE_READ(sock, __sk_common.skc_state);
  }
  return 0;
}

/* Does the CPU quota of its control group stop it? Of the two ways only that of 6.18 is covered by a test
 * here. */
static __always_inline bool is_throttled(struct task_struct* task) {
  struct task_struct___throttled* each = (void*)task;
  if (bpf_core_field_exists(each->throttled)) return BPF_CORE_READ(each, throttled);
  return bpf_core_field_exists(task->se.cfs_rq) && BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

#endif
