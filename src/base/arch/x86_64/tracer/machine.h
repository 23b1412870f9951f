/* x86-64 and its Linux, without a libc: clock, thread control block, system calls. For attach/tracer/machine.h only. */
#ifndef FATHOM_ARCH_TRACER_MACHINE_H
#define FATHOM_ARCH_TRACER_MACHINE_H

/* Without a fence, which would cost 11 to 15 ns each time: so a processor may read the clock early, and the
 * events of a block that goes from thread to thread may be stamped in the wrong order. The reader of the
 * rings corrects that (record/heap/out_of_order_events.h). In one thread stamps are in order. */
INLINE u64 read_clock(void) {
  u32 low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
  return (u64)high << 32 | low;
}

/* Asks for a cache line to write to; without effect where it cannot be had. */
INLINE void prefetch_to_write(u64 address) {
  __asm__ volatile("prefetchw (%0)" ::"r"(address));
}

INLINE void relax(void) {
  __asm__ volatile("pause" ::: "memory");
}

/* The address of the thread control block, which glibc and musl keep in its first word. */
INLINE u64 thread_control_block(void) {
  u64 value;
  __asm__ volatile("mov %%fs:0, %0" : "=r"(value));
  return value;
}

enum {
  CALL_MINCORE = 27,
  CALL_NANOSLEEP = 35,
  CALL_GETPID = 39,
  CALL_GETTID = 186,
  CALL_TGKILL = 234,
  CALL_PROCESS_VM_READV = 310
};
INLINE s64 system_call(s64 number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
  register u64 r10 __asm__("r10") = d;
  register u64 r8 __asm__("r8") = e;
  register u64 r9 __asm__("r9") = f;
  s64 result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#endif
