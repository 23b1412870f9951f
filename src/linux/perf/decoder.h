// Bytes of one perf record -> event. Pure. Source: perf_event_open(2) and include/uapi/linux/perf_event.h.
// Records carry no description of themselves: what they hold follows from the attributes that the event was
// opened with.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/arch/perf_registers.h"
#include "base/result.h"
#include "linux/events.h"

namespace fathom::sources {

class RecordDecoder {
 public:
  // `attributes` must have sample_id_all, and in sample_type at least TID and TIME, at most those of
  // base_attributes() and CALLCHAIN, REGS_USER (exactly kUserRegisters) and STACK_USER.
  explicit RecordDecoder(const perf_event_attr& attributes);

  // nullopt: a record that says nothing to us (an unknown type, a process outside of our pid namespace).
  // kMalformed: it is shorter than it must be. `cpu` is that of the ring. THROTTLE and LOST are also
  // understood when they come from an event with other attributes that was redirected to this ring; its
  // samples are not.
  Result<std::optional<Event>> decode(std::span<const std::byte> record, std::uint16_t cpu) const;

  static constexpr std::uint64_t kUserRegisters = arch::kPerfRegisters;

 private:
  bool has(std::uint64_t flag) const { return (sample_type_ & flag) != 0; }
  bool takes_samples() const { return has(PERF_SAMPLE_REGS_USER); }
  std::uint64_t sample_type_;
  std::size_t trailer_size_;
};

}  // namespace fathom::sources
