/* The processor and the kernel, without a libc: words that threads share, clock, system calls. */
#ifndef FATHOM_TRACER_MACHINE_H
#define FATHOM_TRACER_MACHINE_H

#include "base/abi/heap_tracer.h"

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

#include "base/arch/tracer/machine.h"

#define ERROR_NO_PERMISSION (-1)
#define ERROR_NO_PROCESS (-3)
#define ERROR_NO_CALL (-38)

struct io_range {
  u64 address, bytes;
};

#endif
