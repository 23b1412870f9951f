/* The few kernel types that the programs need. Field offsets are relocated at load time (CO-RE), so neither
 * the build machine nor the source tree needs the kernel's own headers or BTF. */
#ifndef FATHOM_BPF_KERNEL_TYPES_H
#define FATHOM_BPF_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

enum bpf_map_type {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_MAP_TYPE_RINGBUF = 27,
};

#define BPF_ANY 0
#define BPF_F_MMAPABLE (1u << 10)
#define BPF_F_USER_STACK (1ull << 8)
#define BPF_NOEXIST 1
#define BPF_RB_NO_WAKEUP (1ull << 0)
#define BPF_RB_FORCE_WAKEUP (1ull << 1)
#define BPF_RB_AVAIL_DATA 0
#define PF_KTHREAD 0x00200000

#include "base/arch/kernel_registers.h"

struct bpf_perf_event_data {
  struct pt_regs regs;
  __u64 sample_period;
  __u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct mm_struct {
  unsigned long
      start_stack; /* where the kernel began it: the arguments of the program, and nothing of a frame */
};
struct cfs_rq {
  int throttle_count;
};
struct sched_entity {
  u64 sum_exec_runtime;
  struct cfs_rq* cfs_rq; /* only with group scheduling */
};
/* Since 6.18 a quota stops threads one by one, on their way out of the kernel. */
struct task_struct___throttled {
  bool throttled;
};
/* Before 5.14. */
struct task_struct___before_5_14 {
  long state;
};
struct files_struct;
typedef struct {
  int counter;
} atomic_t;
struct signal_struct {
  atomic_t live; /* threads that have not begun to end */
  unsigned int flags;
  int group_exit_code;
  struct mm_struct* oom_mm; /* set for the victim of an OOM kill */
};
struct task_struct {
  unsigned int __state;
  void* stack;
  struct files_struct* files;
  int pid, tgid;
  struct sched_entity se;
  unsigned int flags;
  struct mm_struct* mm;
  struct task_struct* group_leader;
  struct signal_struct* signal;
  int exit_code;
  u64 start_time; /* of a thread; of the first one, of the process */
};
struct sigaction {
  void* sa_handler; /* 0: the kernel's default */
};
struct k_sigaction {
  struct sigaction sa;
};
union __sifields {
  struct {
    int _pid;
  } _kill;
  struct {
    void* _addr;
  } _sigfault;
};
struct kernel_siginfo {
  int si_code;
  union __sifields _sifields;
};
struct super_block {
  u32 s_dev;
};
struct inode {
  u16 i_mode;
  unsigned long i_ino;
  struct super_block* i_sb;
};
struct file {
  struct inode* f_inode;
  void* private_data;
};
struct fdtable {
  unsigned int max_fds;
  struct file** fd;
};
struct files_struct {
  struct fdtable* fdt;
};
struct in6_addr {
  unsigned char s6_addr[16];
};
struct sock_common {
  u32 skc_daddr;
  struct in6_addr skc_v6_daddr; /* only with IPv6 */
  u16 skc_dport;
  u16 skc_num;
  u16 skc_family;
  volatile unsigned char skc_state;
};
struct sock {
  struct sock_common __sk_common;
};
struct socket {
  struct sock* sk;
};
#pragma clang attribute pop

#endif
