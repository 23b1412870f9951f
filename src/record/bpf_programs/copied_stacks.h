/* Stacks of programs whose mappings user space has not published yet: right after a program starts or loads a library, its
 * code runs before anybody has read of the mapping. Such a walk ends at once, so registers and the top of the stack go to user
 * space instead, which walks them when it knows what was mapped at that time. */
#ifndef FATHOM_BPF_COPIED_STACKS_H
#define FATHOM_BPF_COPIED_STACKS_H

/* Set before loading where user space keeps the unwind tables to walk with. */
const volatile u32 copies_stacks = 0;

#define BPF_RB_RING_SIZE 1
#define COPIED_AT_ONCE 256 /* a read fails as a whole where the stack ends in it */
#define COPIES_AT_MOST ((COPIED_STACK_WORDS - COPIED_REGISTERS) * 8 / COPIED_AT_ONCE)

/* Did this walk want mappings, and may it be copied? A first frame outside of all mappings may be a wild call, or code that
 * was mapped just now. The last quarter of a ring is kept for what is small. */
static __always_inline int wants_copy(const struct stack_buffer* buffer, struct tracked_process* process,
                                      void* ring) {
  u8 end = buffer->header.end;
  if (!copies_stacks || (end != WALK_NO_MAPPING && end != WALK_NO_TABLE && !buffer->walk.wild)) return 0;
  if (process->copies_left == 0) return 0;
  if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 4 * 3)
    return 0;
  process->copies_left--;
  return 1;
}

/* Puts pc, sp and fp of buffer->walk and the stack in place of the walked frames. Such a stack has its own number: the
 * walked frames are too few to recognize equal stacks. */
_Static_assert(COPIED_STACK_WORDS <= WALK_MAX_FRAMES, "is sent as frames are");
_Static_assert(MAX_KERNEL_FRAMES + COPIED_STACK_WORDS <= FRAME_SLOTS, "has room behind the kernel's frames");
_Static_assert((COPIED_STACK_WORDS - COPIED_REGISTERS) * 8 % COPIED_AT_ONCE == 0, "whole reads");
__attribute__((noinline)) int copy_stack(BUFFER_ARGUMENT) {
  TAKE_BUFFER;
  const struct step_walk* w;
  u64 wanted;
  u32 first, copied = 0;
  if (!buffer) return 0;
  w = &buffer->walk;
  /* Above that there are no frames. On another thread's stack it is more than there is room for. */
  wanted = BPF_CORE_READ(current_task(), mm, start_stack) - w->sp + COPIED_AT_ONCE;
  first = buffer->header.kernel_count;
  if (first > MAX_KERNEL_FRAMES) return 0; /* for the verifier */
  buffer->frames[first] = w->pc;
  buffer->frames[first + 1] = w->sp;
  buffer->frames[first + 2] = w->fp;
  first += COPIED_REGISTERS;
#pragma unroll 1
  for (u32 i = 0; i < COPIES_AT_MOST; i++) {
    u64* to;
    if (i * COPIED_AT_ONCE >= wanted) break;
    to = &buffer->frames[first + i * (COPIED_AT_ONCE / 8)];
    if (bpf_probe_read_user(to, COPIED_AT_ONCE, (void*)(w->sp + i * COPIED_AT_ONCE))) break;
    copied += COPIED_AT_ONCE / 8;
  }
  buffer->header.kind = CPU_EVENT_STACK_COPY;
  buffer->header.user_count = COPIED_REGISTERS + copied;
  buffer->header.stack_id = hash_word(buffer->header.stack_id, buffer->header.time_ns);
  buffer->header.stack_id = hash_word(buffer->header.stack_id, bpf_get_smp_processor_id());
  return 0;
}

#endif
