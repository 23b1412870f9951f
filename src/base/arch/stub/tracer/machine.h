/* No processor: the tracer compiles, and its image is empty. For attach/tracer/machine.h only. */
#ifndef FATHOM_ARCH_TRACER_MACHINE_H
#define FATHOM_ARCH_TRACER_MACHINE_H

INLINE u64 read_clock(void) {
  return 0;
}
INLINE void prefetch_to_write(u64 address) {
  (void)address;
}
INLINE void relax(void) {}
INLINE u64 thread_control_block(void) {
  return 0;
}

enum { CALL_MINCORE, CALL_NANOSLEEP, CALL_GETPID, CALL_GETTID, CALL_TGKILL, CALL_PROCESS_VM_READV };

INLINE s64 system_call(s64 number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
  (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
  return -38; /* no such call */
}

#endif
