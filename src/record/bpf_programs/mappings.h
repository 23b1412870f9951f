/* Address space that a recorded process takes and gives back: mmap of anonymous memory, munmap, mremap and
 * brk, and the pages that it gives back by madvise while the address space stays; with the stack of the
 * caller. One program at the end of every system call, attached only where the heap is traced: at the end the
 * arguments are still in the registers, and the result is known. */
#ifndef FATHOM_BPF_MAPPINGS_H
#define FATHOM_BPF_MAPPINGS_H

#include "base/abi/mapping_events.h"
#include "base/arch/call_numbers.h"

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u64);
} mapping_losses SEC(".maps");

#define MADV_DONTNEED 4
#define MADV_FREE 8
#define MADV_REMOVE 9
#define MADV_PAGEOUT 21
#define MADV_DONTNEED_LOCKED 24
#define MAP_ANONYMOUS 0x20
#define MAP_STACK 0x20000

static __always_inline bool changes_memory(u64 number) {
  return number == CALL_MMAP || number == CALL_MUNMAP || number == CALL_BRK || number == CALL_MREMAP ||
         number == CALL_MADVISE;
}

/* Advice after which the pages of the range are the kernel's again, at once or when it wants them. */
static __always_inline bool gives_back(u64 advice) {
  return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == MADV_PAGEOUT ||
         advice == MADV_DONTNEED_LOCKED;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(memory_changed, struct pt_regs* regs, long result) {
  u64 number = 0, flags = 0, id;
  u32 zero = 0;
  struct memory_event event = {.kind = MEMORY_EVENT_CALL};
  struct stack_buffer* buffer;
  bpf_probe_read_kernel(&number, 8, &CALL_NUMBER(regs));
  if (!changes_memory(number)) return 0;
  if (result < 0 && result > -4096) return 0; /* it failed, and changed nothing */
  id = bpf_get_current_pid_tgid();
  event.pid = id >> 32;
  if (!is_recorded(event.pid)) return 0;
  bpf_probe_read_kernel(&event.address, 8, &CALL_ARGUMENT_0(regs));
  bpf_probe_read_kernel(&event.length, 8, &CALL_ARGUMENT_1(regs));
  bpf_probe_read_kernel(&event.argument, 8, &CALL_ARGUMENT_2(regs));
  if (number == CALL_MADVISE && !gives_back(event.argument)) return 0;
  if (number == CALL_MMAP) {
    bpf_probe_read_kernel(&flags, 8, &CALL_ARGUMENT_3(regs));
    /* What is reserved without access takes address space and no memory; stacks are counted as such. */
    event.anonymous = (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_STACK) == 0 && event.argument != 0;
  }
  event.number = number;
  event.tid = (u32)id;
  event.result = result;
  event.time_ns = bpf_ktime_get_ns();
  buffer = buffer_of(BUFFER_MAPPING);
  if (!buffer) return 0;
  buffer->header.kernel_count = 0;
  buffer->header.kernel_truncated = 0;
  event.stack_id = walk_in_kernel(AS_ARGUMENT(buffer), event.pid, event.time_ns);
  if (bpf_ringbuf_output(&off_cpu_ring, &event, sizeof(event), off_cpu_ring_flags())) {
    u64* lost = bpf_map_lookup_elem(&mapping_losses, &zero);
    if (lost) ++*lost;
  }
  return 0;
}

#endif
