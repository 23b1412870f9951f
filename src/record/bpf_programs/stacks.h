/* Walking the stack of the current thread into a buffer. One buffer per CPU and kind of program: a timer may
 * interrupt a scheduler program, so they never share one. */
#ifndef FATHOM_BPF_STACKS_H
#define FATHOM_BPF_STACKS_H

#define FRAME_SLOTS 2048 /* a power of two, for the verifier */

struct stack_buffer {
  struct cpu_event_stack header;
  u64 frames[FRAME_SLOTS]; /* kernel_count, then user_count, see cpu_event_stack */
  struct step_walk walk;   /* in progress, or the last one */
  u32 slot;                /* of this buffer, enum buffer_slot */
};

/* A program at a breakpoint keeps its CPU, but another thread may run there in between and meet a breakpoint, too: so there are
 * several buffers of probes for each CPU, and each is taken and given back. */
#define PROBE_BUFFERS 4
enum buffer_slot {
  BUFFER_SAMPLE,
  BUFFER_SWITCH,
  BUFFER_WAKE_UP,
  BUFFER_FAULT,
  BUFFER_MAPPING,
  BUFFER_PROBE,
  BUFFERS_WITHOUT_PROBES = BUFFER_PROBE,
  BUFFERS = BUFFER_PROBE + PROBE_BUFFERS,
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, BUFFERS_WITHOUT_PROBES); /* set before loading */
  __type(key, u32);
  __type(value, struct stack_buffer);
} stack_buffers SEC(".maps");

static __always_inline struct stack_buffer* buffer_of(u32 slot) {
  struct stack_buffer* buffer = bpf_map_lookup_elem(&stack_buffers, &slot);
  if (buffer) buffer->slot = slot;
  return buffer;
}

/* A global function is verified once, with unknown arguments. Before Linux 5.12 it takes numbers only, so there it gets the
 * buffer's slot and looks it up. TAKE_BUFFER comes first in its body; `buffer` may be null then. */
#if BEFORE_LINUX_5_15
#define BUFFER_ARGUMENT u32 buffer_slot
#define TAKE_BUFFER struct stack_buffer* buffer = bpf_map_lookup_elem(&stack_buffers, &buffer_slot)
#define AS_ARGUMENT(buffer) ((buffer)->slot)

__attribute__((noinline)) int step_in(BUFFER_ARGUMENT) {
  TAKE_BUFFER;
  return buffer ? step_once(&buffer->walk) : WALK_NO_RULE;
}
/* step_in is one call more, and a program may be eight calls deep. */
#define WHOLE_WALK static __always_inline
#else
#define BUFFER_ARGUMENT struct stack_buffer* buffer
#define TAKE_BUFFER
#define AS_ARGUMENT(buffer) (buffer)
#define step_in(buffer) step_once(&(buffer)->walk)
#define WHOLE_WALK __attribute__((noinline))
#endif

static __always_inline u64 hash_word(u64 hash, u64 word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

/* Begins a walk; its registers are still to be set. */
static __always_inline struct step_walk* begin_walk(struct stack_buffer* buffer) {
  struct step_walk* w = &buffer->walk;
  __builtin_memset(w, 0, sizeof(*w));
  w->exact = 1;
  w->first = 1;
  return w;
}

/* The registers that the current thread entered the kernel with. */
static __always_inline struct pt_regs* entry_place(struct step_walk* w) {
  struct pt_regs* entered = entry_registers(current_task());
  bpf_probe_read_kernel(&w->pc, 8, &REGISTERS_PC(entered));
  bpf_probe_read_kernel(&w->sp, 8, &REGISTERS_SP(entered));
  bpf_probe_read_kernel(&w->fp, 8, &REGISTERS_FP(entered));
  return entered;
}

/* User registers of the current thread: those that it interrupted, or that it entered the kernel with. */
static __always_inline int user_registers(struct pt_regs* context, struct step_walk* w) {
  volatile u64 mode = REGISTERS_MODE(context);
  struct pt_regs* entered;
  if (IS_USER_MODE(mode)) {
    w->pc = REGISTERS_PC(context);
    w->sp = REGISTERS_SP(context);
    w->fp = REGISTERS_FP(context);
    return (int)mode;
  }
  entered = entry_place(w);
  mode = 0;
  bpf_probe_read_kernel((void*)&mode, 8, &REGISTERS_MODE(entered));
  return (int)mode;
}

/* Adds the kernel frames from `first` to the stack's hash. The count is read again for each frame, on purpose: the
 * verifier then follows one state through the loop and not one for each possible count. */
#define KERNEL_FRAMES_AT_ONCE 16
__attribute__((noinline)) u64 hash_some_kernel_frames(BUFFER_ARGUMENT, u64 hash, u32 first) {
  TAKE_BUFFER;
  if (!buffer) return 0;
#pragma unroll 1
  for (u32 i = 0; i < KERNEL_FRAMES_AT_ONCE; i++) {
    if (first + i >= *(volatile u16*)&buffer->header.kernel_count) break;
    hash = hash_word(hash, buffer->frames[(first + i) & (FRAME_SLOTS - 1)]);
  }
  return hash;
}

/* The kernel frames, the process and its epoch; the walk adds the user frames. */
__attribute__((noinline)) u64 hash_kernel_stack(BUFFER_ARGUMENT) {
  TAKE_BUFFER;
  struct task_struct* task = current_task();
  u64 hash;
  if (!buffer) return 0;
  hash = hash_word(buffer->header.pid, (u64)buffer->header.epoch << 32 | buffer->header.kernel_count);
  /* A pid is used again: the stacks of the process that had it before are not those of this one. Read by a helper: for
   * a pointer that is followed the verifier searches all types of the kernel, a millisecond each time. */
  hash = hash_word(hash, BPF_CORE_READ(task, group_leader, start_time));
#pragma unroll 1
  for (u32 first = 0; first < MAX_KERNEL_FRAMES; first += KERNEL_FRAMES_AT_ONCE) {
    if (first >= *(volatile u16*)&buffer->header.kernel_count) break;
    hash = hash_some_kernel_frames(AS_ARGUMENT(buffer), hash, first);
  }
  return hash;
}

/* The next frames of the buffer's walk, behind those that it holds. 0 while the stack goes on, else how it
 * ended. */
#define FRAMES_AT_ONCE 31
__attribute__((noinline)) int walk_some_frames(BUFFER_ARGUMENT) {
  TAKE_BUFFER;
  struct step_walk* w;
  u64 hash;
  u32 n, count;
  int end = 0;
  if (!buffer) return WALK_NO_RULE;
  w = &buffer->walk;
  count = buffer->header.user_count;
  n = buffer->header.kernel_count;
  hash = buffer->header.stack_id;
#pragma unroll 1
  for (int i = 0; i < FRAMES_AT_ONCE; i++) {
    u64 frame = w->pc | (u64)w->exact << 63; /* WALK_EXACT, without a branch for the verifier */
    buffer->frames[(n + slot_of_frame(count)) & (FRAME_SLOTS - 1)] = frame;
    hash = hash_word(hash, frame);
    count++;
    end = step_in(AS_ARGUMENT(buffer));
    if (end) break;
  }
  buffer->header.user_count = count;
  buffer->header.stack_id = hash;
  return end;
}

/* Walks the user stack from buffer->walk on into buffer->frames behind the kernel frames, and adds each frame to the
 * stack's hash in header.stack_id; header.user_count is 0 before. Global, as the one above: the verifier follows
 * every round of a loop, and with one loop over all frames it took 25 ms for each program that walks (2026-11). */
_Static_assert(WALK_MOST_STEPS % FRAMES_AT_ONCE == 0, "a walk ends with a whole round");
_Static_assert(MAX_KERNEL_FRAMES + WALK_MAX_FRAMES <= FRAME_SLOTS, "all that is kept has a slot");
WHOLE_WALK int walk_user_stack(BUFFER_ARGUMENT) {
  TAKE_BUFFER;
  if (!buffer) return WALK_NO_RULE;
#pragma unroll 1
  for (int i = 0; i < WALK_MOST_STEPS / FRAMES_AT_ONCE; i++) {
    int end = walk_some_frames(AS_ARGUMENT(buffer));
    if (end == WALK_ROOT && *(volatile u16*)&buffer->header.user_count > WALK_MAX_FRAMES)
      return WALK_MIDDLE_CUT;
    if (end) return end;
  }
  return WALK_DEPTH_LIMIT;
}

/* How many addresses the buffer holds. */
static __always_inline u32 frames_kept(const struct stack_buffer* buffer) {
  u32 user = buffer->header.user_count;
  return buffer->header.kernel_count + (user < WALK_MAX_FRAMES ? user : WALK_MAX_FRAMES);
}

#endif
