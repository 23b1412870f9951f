/* The processor and the kernel, without a libc: clock, thread control block, system calls. */
#ifndef FATHOM_TRACER_MACHINE_H
#define FATHOM_TRACER_MACHINE_H

#include "abi/heap_tracer.h"

#define NO_INLINE __attribute__((noinline, unused)) /* not every includer needs all */
#define HELPER static __attribute__((unused))
#define INLINE static inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define load_relaxed(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add_relaxed(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
/* What a signal handler of this thread must find done, or not done. */
#define signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

INLINE int compare_exchange_u32(u32* p, u32 from, u32 to) {
  return __atomic_compare_exchange_n(p, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
INLINE int compare_exchange_u64(u64* p, u64 from, u64 to) {
  return __atomic_compare_exchange_n(p, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Without a fence, which would cost 11 to 15 ns each time: so a processor may read the clock early, and the
 * events of a block that goes from thread to thread may be stamped in the wrong order. Whoever reads the
 * rings sees that and puts it right (sources/heap/out_of_order_events.h). In one thread stamps are in order. */
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
#define ERROR_NO_PERMISSION (-1)
#define ERROR_NO_PROCESS (-3)
#define ERROR_NO_CALL (-38)

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

struct io_range {
  u64 address, bytes;
};

#endif
