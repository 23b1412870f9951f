/* What is counted of the system calls of recorded threads (record --syscalls). Times are CLOCK_MONOTONIC nanoseconds. */
#ifndef FATHOM_ABI_SYSTEM_CALL_ACCOUNTS_H
#define FATHOM_ABI_SYSTEM_CALL_ACCOUNTS_H

#include "base/abi/unwind_table.h" /* integer types */

#define SYSTEM_CALL_ACCOUNTS 65536
#define SYSTEM_CALLS_IN_PROGRESS 32768
#define FILE_ACCOUNTS 16384
#define SYSTEM_CALL_WINDOW_NS 100000000ull /* the budget of walks is kept in each of these */

struct system_call_key {
  u32 tid; /* 0: of threads for which there was no room */
  u32 number;
  u64 stack_id; /* 0: not walked */
};

/* Of calls that returned. */
struct system_call_account {
  u64 calls;
  u64 errors; /* of these: returned a negative error number */
  u64 total_ns, longest_ns;
  u64 bytes; /* that calls which read or write returned */
  u32 pid;
  u32 unused;
};

struct system_call_start {
  u64 start_ns; /* 0: none */
  u64 number;
};

/* Calls that move bytes, by the file behind their descriptor. */
struct file_key {
  u64 inode;
  u32 device;
  u32 pid;
  u32 number; /* of the call */
  u32 unused;
};

struct file_account {
  u64 calls, errors, total_ns, longest_ns, bytes;
  u32 descriptor; /* one that led to it */
  u32 mode;       /* S_IFMT bits */
};

/* Of one CPU. */
struct system_call_counters {
  u64 calls, run_ns;
  u64 lost; /* calls without an account */
  u64 window_ns;
  u32 in_window, in_last_window;
};

#endif
