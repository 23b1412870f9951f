/* Reading the stack of this very thread without ever faulting. The stack of a thread lies below its control
 * block (glibc and musl put the block at the top of the stack's mapping), the first thread's where the
 * profiler says. Anything else, an alternate signal stack or a fiber's, is copied through the kernel, which
 * checks. */
#ifndef FATHOM_TRACER_STACK_MEMORY_H
#define FATHOM_TRACER_STACK_MEMORY_H

#include "attach/tracer/machine.h"
#include "attach/tracer/state.h"
#include "attach/tracer/threads.h"

#define PAGE 4096ull
#define LARGEST_STACK (256ull << 20)

/* Can each page of [from, to) be read? Asked by copying one byte of each: unlike mincore, that sees guard
 * pages. */
static int pages_readable(struct state* s, struct thread* t, u64 from, u64 to) {
  struct io_range* ranges = (struct io_range*)t->window;
  u8* bytes = t->window + WINDOW_BYTES / 2;
  const u64 batch = WINDOW_BYTES / 2 / sizeof *ranges;
  t->window_bytes = 0;
  while (from < to) {
    struct io_range local = {(u64)bytes, 0};
    u64 count = 0;
    s64 result;
    for (u64 page = from; page < to && count < batch; page += PAGE, count++)
      ranges[count] = (struct io_range){page, 1};
    local.bytes = count;
    result = system_call(CALL_PROCESS_VM_READV, own_pid(s), (u64)&local, 1, (u64)ranges, count, 0);
    if (result == ERROR_NO_CALL || result == ERROR_NO_PERMISSION) /* forbidden in some containers */
      result = system_call(CALL_MINCORE, from, count * PAGE, (u64)bytes, 0, 0, 0) == 0 ? (s64)count : -1;
    if (result != (s64)count) return 0;
    from += count * PAGE;
  }
  return 1;
}

/* Finds out whether `sp` is on the thread's own stack, and then how far that may be read. */
static NO_INLINE int find_own_stack(struct state* s, const struct tracer_shared* shared,
                                    const struct slot* slot, u64 sp) {
  struct thread* t = thread_of(s, slot);
  u64 key = slot->key;
  u64 from = sp & ~(PAGE - 1), to = key;
  if (sp >= shared->main_stack_start && sp < shared->main_stack_end) {
    t->stack_low = shared->main_stack_start;
    t->stack_high = shared->main_stack_end;
    return 1;
  }
  if (slot->tid == (u32)shared->target_pid) return 0; /* the first thread's block is not on its stack */
  if (sp >= key || key - sp >= LARGEST_STACK) return 0;
  if (t->stack_high == key && from < t->stack_low) to = t->stack_low; /* it has grown */
  if (shared->may_call_kernel && !pages_readable(s, t, from, to)) return 0;
  t->stack_low = from;
  t->stack_high = key;
  return 1;
}

/* A word of a stack that is not the thread's own. 0 if it cannot be read. */
static NO_INLINE int read_foreign_word(struct state* s, struct thread* t, u64 address, u64* value) {
  if (address - t->window_start >= t->window_bytes || t->window_bytes - (address - t->window_start) < 8) {
    struct io_range local = {(u64)t->window, WINDOW_BYTES}, remote = {address, WINDOW_BYTES};
    s64 result = system_call(CALL_PROCESS_VM_READV, own_pid(s), (u64)&local, 1, (u64)&remote, 1, 0);
    t->window_start = address;
    t->window_bytes = result > 0 ? (u64)result : 0;
    if (t->window_bytes < 8) return 0;
  }
  *value = *(const u64*)(t->window + (address - t->window_start));
  return 1;
}

#endif
