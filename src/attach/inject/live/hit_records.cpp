#include "attach/inject/live/hit_records.h"

#include <linux/hw_breakpoint.h>

#include <algorithm>
#include <array>

#include "base/arch/perf_registers.h"
#include "base/cursor.h"
#include "linux/perf/event.h"

namespace fathom::inject {

perf_event_attr breakpoint_attributes(ProcessAddress address) {
  perf_event_attr attributes = sources::base_attributes();
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_X;
  attributes.bp_addr = address.value;
  attributes.bp_len = sizeof(long);  // the kernel requires this value for execution breakpoints
  attributes.sample_period = 1;
  attributes.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = arch::kPerfCallRegisters;
  attributes.sample_stack_user = sizeof(std::uint64_t);
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.task = 1;  // to learn of new threads
  return attributes;
}

void HitReader::read(std::span<const std::byte> record) {
  Cursor cursor(record);
  const auto type = cursor.read<std::uint32_t>();
  switch (type) {
    case PERF_RECORD_SAMPLE:
      return read_hit(record);
    case PERF_RECORD_LOST:
      cursor.skip(sizeof(perf_event_header) - sizeof type + sizeof(std::uint64_t));
      lost += cursor.read<std::uint64_t>();
      return;
    case PERF_RECORD_FORK:
      has_new_thread = true;
      return;
    default:
      return;
  }
}

void HitReader::read_hit(std::span<const std::byte> record) {
  Cursor cursor(record);
  cursor.skip(sizeof(perf_event_header));
  const auto address = cursor.read<std::uint64_t>();
  cursor.skip(sizeof(std::uint32_t));  // pid
  Hit hit;
  hit.thread = static_cast<std::int32_t>(cursor.read<std::uint32_t>());
  hit.time_ns = cursor.read<std::uint64_t>();
  cursor.skip(sizeof(std::uint64_t));  // CPU
  const bool has_registers = cursor.read<std::uint64_t>() == PERF_SAMPLE_REGS_ABI_64;
  std::array<std::uint64_t, arch::kPerfCallCount> registers{};
  if (has_registers)
    for (std::uint64_t& each : registers) each = cursor.read<std::uint64_t>();
  const auto stack_bytes = cursor.read<std::uint64_t>();
  if (stack_bytes == sizeof(std::uint64_t)) {
    hit.return_to = cursor.read<std::uint64_t>();
    // The number of bytes that could be read.
    if (cursor.read<std::uint64_t>() != stack_bytes) hit.return_to = 0;
  }
  const auto point = std::ranges::find(points_, ProcessAddress{address}, &WatchedPoint::address);
  if (!cursor.ok() || !has_registers || point == points_.end()) {
    ++malformed;
    return;
  }
  hit.point = point->point;
  hit.stack = registers[arch::kPerfCallSp];
  hit.first = registers[arch::kPerfFirst];
  hit.second = registers[arch::kPerfSecond];
  hit.result = registers[arch::kPerfResult];
  hits.push_back(hit);
}

}  // namespace fathom::inject
