#include "record/bpf/ring_events.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/abi/cpu_events.h"
#include "base/abi/heap_probe_events.h"
#include "base/abi/mapping_events.h"
#include "base/abi/off_cpu_events.h"

namespace fathom::sources {
namespace {

Waited waited(const off_cpu_event_wait& event) {
  Waited wait;
  wait.out_ns = event.out_ns;
  wait.waited_ns = event.waited_ns;
  wait.queued_ns = event.queued_ns;
  wait.pid = static_cast<std::int32_t>(event.pid);
  wait.tid = static_cast<std::int32_t>(event.tid);
  wait.waker_pid = static_cast<std::int32_t>(event.waker_pid);
  wait.waker_tid = static_cast<std::int32_t>(event.waker_tid);
  wait.stack_id = event.stack_id;
  wait.waker_stack_id = event.waker_stack_id;
  wait.system_call = event.system_call;
  wait.weight = event.weight;
  wait.state = event.state;
  std::copy(std::begin(event.arguments), std::end(event.arguments), wait.arguments);
  wait.fault_address = event.fault_address;
  wait.inode = event.inode;
  wait.device = event.device;
  wait.file_mode = event.file_mode;
  wait.peer_family = event.peer_family;
  std::copy(std::begin(event.peer_address), std::end(event.peer_address), wait.peer_address.begin());
  wait.peer_port = event.peer_port;
  wait.local_port = event.local_port;
  wait.socket_listens = event.socket_state == SOCKET_LISTENS;
  wait.throttled = event.throttled != 0;
  if (event.result != WAIT_NO_RESULT) wait.result = event.result;
  wait.lock_key = event.lock_key;
  return wait;
}

// Of a stack deeper than what is kept: the ring behind the first frames, from its oldest frame on, which gives its place
// to the mark.
void put_in_order(std::vector<std::uint64_t>& user, std::uint32_t walked) {
  const auto ring = user.begin() + WALK_LEAF_FRAMES;
  std::rotate(ring, user.begin() + slot_of_frame(walked - WALK_ROOT_FRAMES), user.end());
  *ring = WALK_LEFT_OUT;
}

std::optional<StackCopied> stack_copied(std::span<const std::byte> bytes) {
  cpu_event_stack event;
  if (bytes.size() < sizeof(event)) return std::nullopt;
  std::memcpy(&event, bytes.data(), sizeof(event));
  const auto payload = bytes.subspan(sizeof(event));
  const std::size_t kernel_bytes = std::size_t{event.kernel_count} * 8,
                    user_bytes = std::size_t{event.user_count} * 8;
  std::uint64_t registers[COPIED_REGISTERS];
  if (user_bytes < sizeof(registers) || payload.size() < kernel_bytes + user_bytes) return std::nullopt;
  StackCopied copied;
  copied.time_ns = copied.seen.time_ns = event.time_ns;
  copied.seen.stack_id = event.stack_id;
  copied.seen.pid = static_cast<std::int32_t>(event.pid);
  copied.seen.epoch = event.epoch;
  copied.seen.end = event.end;
  copied.seen.kernel.resize(event.kernel_count);
  std::memcpy(copied.seen.kernel.data(), payload.data(), kernel_bytes);
  std::memcpy(registers, payload.data() + kernel_bytes, sizeof(registers));
  copied.instruction_pointer = registers[0];
  copied.stack_pointer = registers[1];
  copied.frame_pointer = registers[2];
  const auto stack = payload.subspan(kernel_bytes + sizeof(registers), user_bytes - sizeof(registers));
  copied.stack.assign(stack.begin(), stack.end());
  return copied;
}

void decode(std::span<const std::byte> record, std::vector<Event>& out) {
  const std::byte* bytes = record.data();
  const void* data = bytes;
  const std::size_t size = record.size();
  switch (static_cast<std::uint8_t>(bytes[0])) {
    case CPU_EVENT_SAMPLE: {
      cpu_event_sample event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      StackSample sample;
      sample.time_ns = event.time_ns;
      sample.tid = static_cast<std::int32_t>(event.tid);
      sample.stack_id = event.stack_id;
      sample.cpu = event.cpu;
      sample.end = event.end;
      out.emplace_back(sample);
      break;
    }
    case CPU_EVENT_STACK: {
      cpu_event_stack event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      const std::size_t kept = std::min<std::size_t>(event.user_count, WALK_MAX_FRAMES);
      const std::size_t count = event.kernel_count + kept;
      if (size < sizeof(event) + count * 8) break;
      StackSeen stack;
      stack.time_ns = event.time_ns;
      stack.stack_id = event.stack_id;
      stack.pid = static_cast<std::int32_t>(event.pid);
      stack.epoch = event.epoch;
      stack.end = event.end;
      stack.kernel.resize(event.kernel_count);
      stack.user.resize(kept);
      std::memcpy(stack.kernel.data(), bytes + sizeof(event), stack.kernel.size() * 8);
      std::memcpy(stack.user.data(), bytes + sizeof(event) + stack.kernel.size() * 8, stack.user.size() * 8);
      if (event.user_count > WALK_MAX_FRAMES) put_in_order(stack.user, event.user_count);
      out.emplace_back(std::move(stack));
      break;
    }
    case CPU_EVENT_STACK_COPY: {
      if (auto copied = stack_copied(record)) out.emplace_back(std::move(*copied));
      break;
    }
    case CPU_EVENT_THREAD_EXIT: {
      cpu_event_thread_exit event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      ThreadCpuTime ended{event.time_ns, static_cast<std::int32_t>(event.pid),
                          static_cast<std::int32_t>(event.tid), event.cpu_ns};
      if (event.process_ended != 0)
        ended.process = ProcessEnd{static_cast<int>(event.wait_status), event.out_of_memory != 0};
      out.emplace_back(ended);
      break;
    }
    case CPU_EVENT_FATAL_SIGNAL: {
      cpu_event_fatal_signal event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(FatalSignal{event.time_ns, static_cast<std::int32_t>(event.pid),
                                   static_cast<std::int32_t>(event.tid), event.stack_id, event.signal,
                                   event.code, event.address, event.stack_pointer,
                                   static_cast<std::int32_t>(event.sender)});
      break;
    }
    case OFF_CPU_EVENT_WAIT: {
      off_cpu_event_wait event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(waited(event));
      break;
    }
    case OFF_CPU_EVENT_FAULT: {
      off_cpu_event_fault event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(PageFault{event.time_ns, static_cast<std::int32_t>(event.pid),
                                 static_cast<std::int32_t>(event.tid), event.stack_id, event.address,
                                 event.weight, event.major != 0});
      break;
    }
    case OFF_CPU_EVENT_THREAD_END: {
      off_cpu_event_thread_end event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(ThreadWaitTime{event.time_ns, static_cast<std::int32_t>(event.pid),
                                      static_cast<std::int32_t>(event.tid), event.ran_ns, event.waited_ns,
                                      event.queued_ns, event.waits, event.preemptions, event.unwalked_waits,
                                      event.unwalked_ns});
      break;
    }
    case MEMORY_EVENT_CALL: {
      memory_event event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(MemoryCall{event.time_ns, static_cast<std::int32_t>(event.pid),
                                  static_cast<std::int32_t>(event.tid), event.stack_id, event.number,
                                  event.anonymous != 0, event.address, event.length, event.argument,
                                  event.result});
      break;
    }
    case HEAP_PROBE_EVENT_ALLOC:
    case HEAP_PROBE_EVENT_FREE: {
      heap_probe_event event;
      if (size < sizeof(event)) break;
      std::memcpy(&event, data, sizeof(event));
      out.emplace_back(HeapProbed{
          event.time_ns, static_cast<std::int32_t>(event.pid), static_cast<std::int32_t>(event.tid),
          event.stack_id, event.kind == HEAP_PROBE_EVENT_FREE, event.block, event.size, event.weight});
      break;
    }
    default:
      break;
  }
}

}  // namespace

void decode_ring_event(std::span<const std::byte> record, std::vector<Event>& out) {
  const std::size_t before = out.size();
  if (!record.empty()) decode(record, out);
  if (out.size() == before) out.emplace_back(Lost{0, 1, Lost::What::kMalformed});
}

}  // namespace fathom::sources
