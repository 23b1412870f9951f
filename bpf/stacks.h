/* Walking the stack of the current thread into a buffer. One buffer per CPU and kind of program: a timer may
 * interrupt a scheduler program, so they never share one. */
#ifndef FATHOM_BPF_STACKS_H
#define FATHOM_BPF_STACKS_H

#define FRAME_SLOTS 2048 /* a power of two, for the verifier */

struct stack_buffer {
  struct cpu_event_stack header;
  u64 frames[FRAME_SLOTS]; /* kernel_count, then user_count */
};

static __always_inline u64 hash_word(u64 hash, u64 word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

/* User registers of the current thread: those that it interrupted, or that it entered the kernel with. */
static __always_inline int user_registers(struct pt_regs* context, struct step_walk* w) {
  volatile u64 cs = context->cs;
  struct pt_regs* entered;
  if ((cs & 3) == 3) {
    w->pc = context->ip;
    w->sp = context->sp;
    w->fp = context->bp;
    return (int)cs;
  }
  entered = (struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  bpf_probe_read_kernel(&w->pc, 8, &entered->ip);
  bpf_probe_read_kernel(&w->sp, 8, &entered->sp);
  bpf_probe_read_kernel(&w->fp, 8, &entered->bp);
  cs = 0;
  bpf_probe_read_kernel((void*)&cs, 8, &entered->cs);
  return (int)cs;
}

/* The kernel frames, the process and its epoch; the walk adds the user frames. The count is read anew for
 * each frame, on purpose: the verifier then follows one state through the loop and not one for each possible
 * count. */
__attribute__((noinline)) u64 hash_kernel_stack(struct stack_buffer* buffer) {
  u64 hash;
  if (!buffer) return 0;
  hash = hash_word(buffer->header.pid, (u64)buffer->header.epoch << 32 | buffer->header.kernel_count);
  /* A pid is used again: the stacks of the process that had it before are not those of this one. */
  hash = hash_word(hash, bpf_get_current_task_btf()->group_leader->start_time);
#pragma unroll 1
  for (int i = 0; i < MAX_KERNEL_FRAMES; i++) {
    if (i >= *(volatile u16*)&buffer->header.kernel_count) break;
    hash = hash_word(hash, buffer->frames[i]);
  }
  return hash;
}

/* Walks the user stack from `w` on into buffer->frames behind the kernel frames, and adds each frame to the
 * stack's hash in header.stack_id. Global: verified once. */
__attribute__((noinline)) int walk_user_stack(struct step_walk* w, struct stack_buffer* buffer) {
  u64 hash;
  u32 n, count = 0;
  int end = WALK_DEPTH_LIMIT;
  if (!w || !buffer) return WALK_NO_RULE;
  n = buffer->header.kernel_count;
  hash = buffer->header.stack_id;
#pragma unroll 1
  for (int i = 0; i < WALK_MAX_FRAMES; i++) {
    u64 frame = w->pc | (u64)w->exact << 63; /* WALK_EXACT, without a branch for the verifier */
    int result;
    buffer->frames[(n + count) & (FRAME_SLOTS - 1)] = frame;
    hash = hash_word(hash, frame);
    count++;
    result = step_once(w);
    if (result) {
      end = result;
      break;
    }
  }
  buffer->header.user_count = count;
  buffer->header.stack_id = hash;
  return end;
}

#endif
