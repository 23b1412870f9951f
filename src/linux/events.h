// What recorders deliver. Engines (BPF, perf) turn the kernel's bytes into these, in time order per source;
// capture turns them into a profile. Plain values: they own their contents and may be kept, moved to another
// thread, or made up by a test. All times are CLOCK_MONOTONIC nanoseconds. A pid is that of the initial pid
// namespace (or of the profiler's, for data from /proc: the same unless the profiler is in a container of its
// own).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "linux/process/maps.h"

namespace fathom::sources {

enum class SampleKind : std::uint8_t {
  kCpu,     // value: number of samples, 1
  kOffCpu,  // value: nanoseconds waited
};

// A sample whose stack is given by number; a StackSeen of the same pid and epoch carries that number, before
// or after it.
struct StackSample {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t stack_id = 0;
  std::int64_t value = 1;
  std::uint16_t cpu = 0;
  std::uint8_t end = 0;  // enum walk_end: how the walk of the stack ended
  SampleKind kind = SampleKind::kCpu;
  bool operator==(const StackSample&) const = default;
};

// The stack behind an id: sent once. Addresses are leaf first, process addresses; user ones have WALK_EXACT
// set where they are instruction pointers and no return addresses. `epoch` counts the mappings of the
// process: an address is resolved with the mappings of its epoch, as a library may have been replaced at the
// same address since.
struct StackSeen {
  std::uint64_t time_ns = 0;
  std::uint64_t stack_id = 0;
  std::int32_t pid = 0;
  std::uint32_t epoch = 0;
  std::vector<std::uint64_t> user;
  std::vector<std::uint64_t> kernel;
  std::uint8_t end = 0;  // enum walk_end of base/abi/walk.h
  bool operator==(const StackSeen&) const = default;
};

// A sample with a copy of the top of the user stack, still to be walked. `stack[0]` lies at `stack_pointer`.
struct CopiedStackSample {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint16_t cpu = 0;
  bool has_user = false;  // false: a kernel thread, or a thread that has given up its memory
  std::uint64_t instruction_pointer = 0, stack_pointer = 0, frame_pointer = 0;
  std::vector<std::byte> stack;
  std::vector<std::uint64_t> kernel;  // leaf first; empty where the kernel is not shown to this user
  bool operator==(const CopiedStackSample&) const = default;
};

// The stack behind an id, still to be walked: its walk in the kernel ended where mappings were not known yet. Is delivered
// instead of a StackSeen. `stack[0]` lies at `stack_pointer`.
struct StackCopied {
  std::uint64_t time_ns = 0;
  StackSeen seen;  // all but the user frames; `end` is where the walk in the kernel ended
  std::uint64_t instruction_pointer = 0, stack_pointer = 0, frame_pointer = 0;
  std::vector<std::byte> stack;
  bool operator==(const StackCopied&) const = default;
};

// A wait that is over; StackSeen events carry its stacks.
struct Waited {
  std::uint64_t out_ns = 0;     // switched out
  std::uint64_t waited_ns = 0;  // until it was woken
  std::uint64_t queued_ns = 0;  // from then until it ran
  std::int32_t pid = 0, tid = 0;
  std::int32_t waker_pid = 0, waker_tid = 0;  // 0: unknown, or no thread
  std::uint64_t stack_id = 0, waker_stack_id = 0;
  std::int32_t system_call = -1;
  std::uint32_t weight = 1;
  std::uint32_t state = 0;  // of the task; 0: preempted
  std::uint64_t arguments[4] = {};
  std::uint64_t fault_address = 0;
  // The file behind the first argument, where that is a descriptor; inode 0: none.
  std::uint64_t inode = 0;
  std::uint32_t device = 0;     // as the kernel has it: 12 bits major, 20 bits minor
  std::uint32_t file_mode = 0;  // S_IFMT bits
  std::uint32_t peer_family = 0;
  std::array<std::uint8_t, 16> peer_address = {};  // network order; of IPv4 the first four bytes
  std::uint32_t peer_port = 0, local_port = 0;
  bool socket_listens = false;  // in the state of a socket that takes connections
  // What the system call returned: bytes, or a negative error number. Only of calls that read, write or sync.
  std::optional<std::int64_t> result = {};
  // Of a thread that waits at its own parker: the word that is the address of the lock, if the source reads it. Any word.
  std::uint64_t lock_key = 0;
  bool throttled = false;  // preempted by the CPU quota of its control group
  bool began_before = false, unfinished = false;
  bool operator==(const Waited&) const = default;
};

// A page that was touched and not there.
struct PageFault {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t stack_id = 0;
  std::uint64_t address = 0;
  std::uint32_t weight = 1;
  bool major = false;
  bool operator==(const PageFault&) const = default;
};

struct ProcessForked {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, parent_pid = 0;
  bool operator==(const ProcessForked&) const = default;
};

// The process runs another program now: all mappings and all other threads are gone.
struct ProcessExeced {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::string name;
  bool operator==(const ProcessExeced&) const = default;
};

struct ThreadStarted {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  bool operator==(const ThreadStarted&) const = default;
};

// The process ends with its last thread; the main thread (tid == pid) may end before others.
struct ThreadEnded {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  bool operator==(const ThreadEnded&) const = default;
};

// How a process ended.
struct ProcessEnd {
  int wait_status = 0;         // as wait(2) has it
  bool out_of_memory = false;  // the kernel chose it as the victim of an OOM kill
  bool operator==(const ProcessEnd&) const = default;
};

// The CPU time of the whole life of a thread that ends.
struct ThreadCpuTime {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t cpu_ns = 0;
  std::optional<ProcessEnd> process =
      {};  // of the last one; of several that end at once, it may be with each
  bool operator==(const ThreadCpuTime&) const = default;
};

// Where the life of a thread inside the recording went, when it ends or the recording does.
struct ThreadWaitTime {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t ran_ns = 0, waited_ns = 0, queued_ns = 0;
  std::uint64_t waits = 0, preemptions = 0, unwalked_waits = 0, unwalked_ns = 0;
  bool operator==(const ThreadWaitTime&) const = default;
};

// A signal that the program does not handle ended it. `tid` took it; a StackSeen carries its stack.
struct FatalSignal {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t stack_id = 0;  // 0: not walked
  int signal = 0;
  std::int32_t code = 0;      // si_code: above 0 the kernel raised it, else a process sent it
  std::uint64_t address = 0;  // si_addr of what the kernel raised
  std::uint64_t stack_pointer = 0;
  std::int32_t sender_pid = 0;  // 0: none
  bool operator==(const FatalSignal&) const = default;
};

struct ThreadNamed {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::string name;
  bool operator==(const ThreadNamed&) const = default;
};

// A new mapping. Whatever lay in its range before is gone. There is no event for munmap: the kernel sends
// none.
struct MemoryMapped {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  process::MapEntry mapping;
  bool operator==(const MemoryMapped&) const = default;
};

// The thread began or ceased to run on `cpu`.
struct ThreadSwitched {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint16_t cpu = 0;
  bool out = false;
  bool preempted = false;  // with `out`: it wanted to run on
  bool operator==(const ThreadSwitched&) const = default;
};

struct Lost {
  enum class What : std::uint8_t {
    kSamples,   // dropped as the ring was full
    kRecords,   // any of the other events, dropped for the same reason: mappings and names may be out of date
    kMalformed  // bytes that did not decode
  };
  std::uint64_t time_ns = 0;
  std::uint64_t count = 0;
  What what = What::kRecords;
  bool operator==(const Lost&) const = default;
};

// The kernel stopped (later, restarted) an event because its interrupts took too much time: an unknown number
// of samples is missing from here up to the next tick.
struct Throttled {
  std::uint64_t time_ns = 0;
  std::uint16_t cpu = 0;
  bool on = true;
  bool operator==(const Throttled&) const = default;
};

// A successful system call that allocated or returned address space, or the memory in it (madvise). A
// StackSeen carries its stack.
struct MemoryCall {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t stack_id = 0;                           // 0: not walked
  std::int32_t number = 0;                              // of the system call
  bool anonymous = false;                               // mmap: without a file
  std::uint64_t address = 0, length = 0, argument = 0;  // its first three arguments
  std::uint64_t result = 0;
  bool operator==(const MemoryCall&) const = default;
};

// A process that samples its own heap reported a sampled block at one of its probes
// (base/abi/heap_probe_events.h). Its words are not checked. A StackSeen carries its stack.
struct HeapProbed {
  std::uint64_t time_ns = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t stack_id = 0;  // 0: not walked
  bool frees = false;
  std::uint64_t block = 0;             // address
  std::uint64_t size = 0, weight = 0;  // bytes; 0 of a free
  bool operator==(const HeapProbed&) const = default;
};

using Event =
    std::variant<StackSample, Waited, PageFault, MemoryCall, HeapProbed, StackSeen, StackCopied,
                 CopiedStackSample, ProcessForked, ProcessExeced, ThreadStarted, ThreadEnded, ThreadCpuTime,
                 FatalSignal, ThreadWaitTime, ThreadNamed, MemoryMapped, ThreadSwitched, Lost, Throttled>;

// What perf's side band can deliver, without the samples: capture handles these the same for every engine.
using SideBandEvent = std::variant<ProcessForked, ProcessExeced, ThreadStarted, ThreadEnded, ThreadNamed,
                                   MemoryMapped, Lost, Throttled>;

inline std::uint64_t time_of(const SideBandEvent& event) {
  return std::visit([](const auto& e) { return e.time_ns; }, event);
}

}  // namespace fathom::sources
