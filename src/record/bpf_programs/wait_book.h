/* The book of waits: what a switch of a recorded thread adds to its account, which waits are walked, and the walk. Some waits are
 * walked, and each of these stands for `weight` of them (base/abi/walk_budget.h), so that sums over stacks are unbiased. */
#ifndef FATHOM_BPF_WAIT_BOOK_H
#define FATHOM_BPF_WAIT_BOOK_H

#include "base/abi/off_cpu_events.h"
#include "base/abi/walk_budget.h"
#include "base/arch/call_numbers.h"

#include "thread_accounts.h"

#include "wait_causes.h"

/* A ring, buffers and table of stacks of their own: the timer of the CPU sampler may interrupt these
 * programs. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 22); /* set before loading */
} off_cpu_ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, SEEN_SLOTS);
  __type(key, u32);
  __type(value, u64);
} off_cpu_seen SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct off_cpu_counters);
} off_cpu_counters SEC(".maps");

/* Walks in a tenth of a second: of one thread, and of one CPU. Twice as much may come before the rate adapts.
 */
const volatile u32 thread_budget = 50;
const volatile u32 cpu_budget = 200;
/* Set before loading where thread_resumed is loaded. */
const volatile u32 walks_when_over = 0;
/* Set by user space, before other programs run, if thread_resumed could not be attached. */
volatile u32 resumed_is_refused = 0;
/* Wake-ups of waits at least so long are walked on the waker's side. */
const volatile u64 waker_threshold_ns = 1000000;

/* Set by user space while call_returned is attached: else the result would never come, and waits would be
 * held for nothing. */
volatile u32 results_wanted = 0;

#define TASK_INTERRUPTIBLE 0x1
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define SELDOM 10 /* switches of a thread in a window */

const volatile u64 off_cpu_ring_wakeup_bytes = 1 << 20;

static __always_inline u64 off_cpu_ring_flags(void) {
  return bpf_ringbuf_query(&off_cpu_ring, BPF_RB_AVAIL_DATA) >= off_cpu_ring_wakeup_bytes
             ? BPF_RB_FORCE_WAKEUP
             : BPF_RB_NO_WAKEUP;
}

/* Walks the stack of the current thread with the user registers that it entered the kernel with into the buffer, which goes into
 * `ring`. 0: the process is not recorded. Inline: a program may be eight calls deep. */
static __always_inline int walk_from_entry(struct stack_buffer* buffer, u32 pid, u64 now, void* ring) {
  struct tracked_process* process;
  struct step_walk* w;
  struct task_struct* task;
  u32 mapping_count;
  process = bpf_map_lookup_elem(&processes, &pid);
  if (!process) return 0;
  buffer->header.kind = CPU_EVENT_STACK;
  buffer->header.pid = pid;
  buffer->header.epoch = current_epoch(pid, process, &mapping_count);
  buffer->header.time_ns = now;
  buffer->header.user_count = 0;
  buffer->header.stack_id = hash_kernel_stack(AS_ARGUMENT(buffer));
  task = current_task();
  w = begin_walk(buffer);
  if (FIELD_OF_TASK(task, flags) & PF_KTHREAD) {
    buffer->header.end = WALK_KERNEL_THREAD;
  } else if (!BPF_CORE_READ(task, mm)) {
    buffer->header.end = WALK_EXITING;
  } else if (mapping_count == 0) {
    buffer->header.end = WALK_NO_TABLE;
  } else {
    w->mapping_first = process->mapping_first;
    w->mapping_count = mapping_count;
    entry_place(w);
    buffer->header.end = walk_user_stack(AS_ARGUMENT(buffer));
  }
  buffer->header.stack_id = hash_word(buffer->header.stack_id, buffer->header.end);
  if (wants_copy(buffer, process, ring)) {
    entry_place(w);
    copy_stack(AS_ARGUMENT(buffer));
  }
  return 1;
}

/* The same for the ring of waits, and sends the stack unless it was sent lately. The stack's number, or 0. Global: verified once for all
 * programs. */
__attribute__((noinline)) u64 walk_in_kernel(BUFFER_ARGUMENT, u32 pid, u64 now) {
  TAKE_BUFFER;
  u64* seen;
  u32 slot, count;
  if (!buffer || !walk_from_entry(buffer, pid, now, &off_cpu_ring)) return 0;
  slot = (u32)buffer->header.stack_id & (SEEN_SLOTS - 1);
  count = frames_kept(buffer);
  seen = bpf_map_lookup_elem(&off_cpu_seen, &slot);
  if (!seen || count > FRAME_SLOTS) return 0;
  if (*seen != buffer->header.stack_id) {
    if (bpf_ringbuf_output(&off_cpu_ring, buffer, sizeof(buffer->header) + count * 8, off_cpu_ring_flags()))
      return 0;
    *seen = buffer->header.stack_id;
  }
  return buffer->header.stack_id;
}

/* `skip`: the innermost frames, which are those of the tracing and of the scheduler itself. */
static __always_inline void take_kernel_stack(void* context, struct stack_buffer* buffer, u64 skip) {
  long bytes = bpf_get_stack(context, buffer->frames, MAX_KERNEL_FRAMES * 8, skip);
  buffer->header.kernel_count = bytes > 0 ? (u32)bytes / 8 : 0;
  buffer->header.kernel_truncated = bytes == MAX_KERNEL_FRAMES * 8;
}

/* Sends the wait that is held. Its stack and cause are still those of the account. Global: verified once. */
SHARED_FUNCTION int send_held_wait(struct thread_account* account, u32 tid, s64 result) {
  struct off_cpu_event_wait event = {.kind = OFF_CPU_EVENT_WAIT};
  struct off_cpu_counters* counters;
  u32 zero = 0;
  if (!account) return 0;
  event.state = kept_task_state(account->state);
  event.cpu = bpf_get_smp_processor_id();
  event.tid = tid;
  event.pid = account->pid;
  event.waker_tid = account->waker_tid;
  event.waker_pid = account->waker_pid;
  event.system_call = account->system_call;
  event.weight = account->weight;
  event.device = account->device;
  event.out_ns = account->held_out_ns;
  event.waited_ns = account->held_waited_ns;
  event.queued_ns = account->held_queued_ns;
  event.stack_id = account->stack_id;
  event.waker_stack_id = account->waker_stack_id;
  event.arguments[0] = account->arguments[0];
  event.arguments[1] = account->arguments[1];
  event.arguments[2] = account->arguments[2];
  event.arguments[3] = account->arguments[3];
  event.fault_address = account->fault_address;
  event.inode = account->inode;
  event.file_mode = account->file_mode;
  event.peer_family = account->peer_family;
  __builtin_memcpy(event.peer_address, account->peer_address, 16);
  event.peer_port = account->peer_port;
  event.local_port = account->local_port;
  event.socket_state = account->socket_state;
  event.throttled = account->throttled;
  event.result = result;
  event.lock_key = account->lock_key;
  account->held_out_ns = 0;
  if (bpf_ringbuf_output(&off_cpu_ring, &event, sizeof(event), off_cpu_ring_flags())) {
    counters = bpf_map_lookup_elem(&off_cpu_counters, &zero);
    if (counters) counters->lost_ring_full++;
  }
  return 0;
}

/* Whether a wait of this length is walked. */
SHARED_FUNCTION int choose_wait(struct thread_account* account, struct off_cpu_counters* counters, u64 length,
                                u64 now) {
  struct length_rate* thread;
  struct cpu_length_rate* cpu;
  u32 one_in, of_thread = thread_budget, of_cpu = cpu_budget;
  if (!account || !counters) return 0;
  if (account->state) {
    thread = &account->lengths[0];
    cpu = &counters->lengths[0];
  } else { /* all alike, so fewer of them are enough */
    thread = &account->lengths[1];
    cpu = &counters->lengths[1];
    of_thread = of_thread / 4 + 1;
    of_cpu = of_cpu / 4 + 1;
  }
  of_cpu = count_wait_on_cpu(cpu, of_cpu, now);
  roll_length_rate(thread, of_thread, now);
  one_in = one_in_of_wait(thread, &cpu->rate, length);
  if (one_in > 1 && bpf_get_prandom_u32() % one_in != 0) {
    account->stack_id = 0;
    return 0;
  }
  count_walk_of_length(thread, of_thread);
  count_walk_of_length(&cpu->rate, of_cpu);
  account->weight = one_in;
  account->stack_id = STACK_CHOSEN;
  return 1;
}

SHARED_FUNCTION int switched_in(struct thread_account* account, u32 tid, u64 now,
                                struct off_cpu_counters* counters) {
  u64 out, waited, queued;
  if (!account || !counters) return 0;
  out = account->out_ns;
  account->in_ns = now;
  if (!out || out > now) return 0;
  if (account->state == 0) {
    waited = 0;
    queued = now - out;
    account->preemptions++;
  } else {
    u64 woken = account->woken_ns >= out && account->woken_ns <= now ? account->woken_ns : now;
    waited = woken - out;
    queued = now - woken;
    account->waits++;
  }
  account->waited_ns += waited;
  account->queued_ns += queued;
  if (account->state == 0)
    account->queued_ns += account->walk_ns;
  else
    account->waited_ns += account->walk_ns;
  account->out_ns = 0;
  if (walks_when_over && account->stack_id == STACK_WHEN_OVER) choose_wait(account, counters, now - out, now);
  if (!account->stack_id) {
    account->unwalked_waits++;
    account->unwalked_ns += now - out;
    return 0;
  }
  account->held_out_ns = out;
  account->held_waited_ns = waited;
  account->held_queued_ns = queued;
  if (walks_when_over && account->stack_id == STACK_CHOSEN) {
    counters->walk_wanted = 1;
    return 0;
  }
  if (results_wanted && account->state != 0 && call_has_result(account->system_call))
    counters->expects_result = 1;
  else
    send_held_wait(account, tid, WAIT_NO_RESULT);
  return 0;
}

/* No switch event reported that the thread got its CPU back. (On a virtual machine with Linux 6.18 the kernel
 * reports no switch away from a thread of process 1, and so not the next thread.) Its CPU clock knows for how
 * long it has run. */
static __always_inline void book_untold_return(struct thread_account* account, struct task_struct* task,
                                               u32 tid, u64 now, struct off_cpu_counters* counters) {
  u64 ran = task->se.sum_exec_runtime - account->cpu_clock_ns;
  bool is_known = account->cpu_clock_ns && ran < now - account->out_ns;
  counters->untold_switches++;
  switched_in(account, tid, is_known ? now - ran : now, counters);
}

/* The wait that is held was never walked if no event reported that its thread was resumed. */
static __always_inline void let_go_of_held_wait(struct thread_account* account, u32 tid) {
  if (!walks_when_over || account->stack_id != STACK_CHOSEN) {
    send_held_wait(account, tid, WAIT_NO_RESULT);
    return;
  }
  account->unwalked_waits++;
  account->unwalked_ns += account->held_waited_ns + account->held_queued_ns;
  account->held_out_ns = 0;
}

/* One in how many waits that begin now is walked. */
static __always_inline u32 one_in_of_beginning(struct thread_account* account,
                                               struct off_cpu_counters* counters, u32 state, u64 now) {
  u32 one_in, on_cpu;
  bool seldom;
  if (state) {
    one_in = adapt_walks(&account->waits_rate, thread_budget, now);
    on_cpu = adapt_walks_on_cpu(&counters->waits_rate, cpu_budget, now);
    seldom = account->waits_rate.switches <= SELDOM;
  } else { /* all alike, so fewer of them are enough */
    one_in = adapt_walks(&account->preemptions_rate, thread_budget / 4 + 1, now);
    on_cpu = adapt_walks_on_cpu(&counters->preemptions_rate, cpu_budget / 4 + 1, now);
    seldom = account->preemptions_rate.switches <= SELDOM || account->throttled;
  }
  /* Threads that switch seldom have the long waits, and are not thinned out for the sake of those that switch
   * a lot, unless they are the load themselves. A quota stops threads for long, too. */
  if (seldom && on_cpu <= SELDOM) return 1;
  return one_in * on_cpu;
}

/* Is the stack of a wait that begins now wanted before it ends? It will last, as far as the thread's last waits show. */
#define EARLY 2 /* waits in a window */
static __always_inline bool walks_early(struct thread_account* account, struct off_cpu_counters* counters,
                                        u64 now) {
  const struct length_rate* rate = &account->lengths[0];
  u64 age = now - rate->window_ns;
  if (age < 2 * WALK_WINDOW_NS && (rate->period_us || rate->walks > EARLY)) return 0;
  if (age < WALK_WINDOW_NS && rate->before > EARLY) return 0;
  if (now - counters->early_window_ns > WALK_WINDOW_NS) {
    counters->early_window_ns = now;
    counters->early_walks = 0;
  }
  if (counters->early_walks >= (counters->lengths[0].full ? cpu_budget / 8 : cpu_budget / 2)) return 0;
  counters->early_walks++;
  return 1;
}

/* The stack and the cause of the wait of the current thread, into its account. */
static __always_inline void walk_wait(void* context, struct stack_buffer* buffer, u64 skip,
                                      struct thread_account* account, struct task_struct* task, u32 pid,
                                      u64 now) {
  note_cause(account, task);
  note_file(account);
  note_lock_key(account, pid);
  take_kernel_stack(context, buffer, skip);
  account->stack_id = walk_in_kernel(AS_ARGUMENT(buffer), pid, now);
}

static __always_inline void switched_out(void* context, struct task_struct* task,
                                         struct thread_account* account, u32 tid, u32 pid, u32 state, u64 now,
                                         struct off_cpu_counters* counters) {
  struct stack_buffer* buffer;
  u32 one_in;
  u64 walk_ended;
  /* Another CPU ended the wait before this switch was reported, so all of it is time in the run queue. What kind of wait
   * it was is overwritten. */
  bool is_woken = state & TASK_WAKING;
  if (is_woken) state = TASK_INTERRUPTIBLE;
  if (!account->in_ns && account->out_ns) book_untold_return(account, task, tid, now, counters);
  account->cpu_clock_ns = task->se.sum_exec_runtime;
  /* It waits again, or lost its CPU, inside the same call: the result belongs to a later wait. */
  if (account->held_out_ns) let_go_of_held_wait(account, tid);
  if (state & TASK_DEAD) {
    drop_account(account, tid);
    return;
  }
  if (account->in_ns && now > account->in_ns) account->ran_ns += now - account->in_ns;
  account->in_ns = 0;
  account->out_ns = now;
  account->woken_ns = is_woken ? now : 0;
  account->stack_id = 0;
  account->waker_stack_id = 0;
  account->waker_tid = 0;
  account->waker_pid = 0;
  account->state = state;
  account->throttled = state == 0 && is_throttled(task);
  account->walk_ns = 0;
  account->pid = pid;

  if (walks_when_over && !resumed_is_refused) {
    account->stack_id = STACK_WHEN_OVER;
    if (!state || !walks_early(account, counters, now)) return;
    account->stack_id = 0;
    one_in = 1;
  } else {
    one_in = one_in_of_beginning(account, counters, state, now);
    if (one_in > 1 && bpf_get_prandom_u32() % one_in != 0) return;
  }
  buffer = buffer_of(BUFFER_SWITCH);
  if (!buffer) return;
  account->weight = one_in;
  walk_wait(context, buffer, 3, account, task, pid, now);
  counters->walks++;
  /* The walk holds this CPU, and interrupts with it. It is no part of the wait, or waits that are walked
   * would be longer than those that they stand for. */
  walk_ended = bpf_ktime_get_ns();
  counters->walk_ns += walk_ended - now;
  account->walk_ns = walk_ended - now;
  account->out_ns = walk_ended;
  if (account->woken_ns) account->woken_ns = walk_ended;
}

#endif
