/* How a walk of one stack ends. Shared by the BPF programs, the user-mode walker and the recording file, so
 * the numbers never change. Plain C. */
#ifndef FATHOM_ABI_WALK_H
#define FATHOM_ABI_WALK_H

enum walk_end {
  WALK_NONE = 0,           /* not a walked stack (imported) */
  WALK_ROOT = 1,           /* reached the start of the thread: the only complete end */
  WALK_NO_MAPPING = 2,     /* an address that lies in no executable mapping we know */
  WALK_NO_RULE = 3,        /* code without unwind rule, and no plausible frame pointer */
  WALK_UNSUPPORTED = 4,    /* a rule that needs what we do not have (another register, an expression) */
  WALK_READ_FAULT = 5,     /* stack memory could not be read */
  WALK_NO_PROGRESS = 6,    /* the stack pointer did not move towards the root */
  WALK_DEPTH_LIMIT = 7,    /* more frames than we keep */
  WALK_STACK_CUT = 8,      /* the copied part of the stack ended (engine perf) */
  WALK_NO_TABLE = 9,       /* the process was seen before its mappings were known */
  WALK_KERNEL_THREAD = 10, /* no user stack at all: complete by nature */
  WALK_EXITING = 11, /* the thread's memory was released already (exit): there is no user stack any more */
  WALK_EXCEPTION =
      12, /* an exception on its way through the frames: slots that the rules count on are overwritten */
  WALK_MIDDLE_CUT =
      13, /* reached the start of the thread, with frames in the middle left out: deeper than we keep */
  WALK_END_COUNT = 14
};

/* Most user frames of one stack: deep recursion is real. Of a deeper one the first WALK_LEAF_FRAMES and the last
 * WALK_ROOT_FRAMES are kept, as long as it has no more than WALK_MOST_STEPS: one to two milliseconds of walking. */
#define WALK_MAX_FRAMES 1023
#define WALK_LEAF_FRAMES 511
#define WALK_ROOT_FRAMES 512 /* a power of two */
#define WALK_MOST_STEPS 16368

/* Stands in a walked stack for the frames in the middle that were left out. No user address has this bit. */
#define WALK_LEFT_OUT (1ull << 62)

/* Marks a walked address that is an instruction pointer and no return address: the first frame, and the frame
 * below a signal handler's. Kept in the top bit of the address, which no user address has. */
#define WALK_EXACT (1ull << 63)

#endif
