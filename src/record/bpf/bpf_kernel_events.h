// Named events (record/bpf_programs/kernel_events.h): a program at each tracepoint, and one for each software or hardware event on
// each CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "record/bpf/cpu_events.h"
#include "record/bpf/kernel_events.h"
#include "record/bpf/part.h"

struct ring_buffer;

namespace fathom::sources {

class BpfKernelEvents final : public BpfPart, public KernelEvents {
 public:
  // `stacks_per_second`: of one event on one CPU; above it, one event in so many is walked. Not for those with a period.
  BpfKernelEvents(std::vector<NamedEvent> events, std::uint32_t stacks_per_second)
      : events_(std::move(events)), stacks_per_second_(stacks_per_second) {}

  void configure(fathom_bpf& skeleton) override;
  Result<> attach() override;
  Result<> add_cpu(int cpu, int output_fd) override;
  void remove_cpu(int cpu) override { counted_.remove(cpu); }
  void detach() override;
  void release() override { passed_.clear(); }
  std::uint64_t kernel_memory_bytes() const override;

  std::vector<kernel_event_record> take() override;
  std::vector<KernelEventSums> sums() const override;

 private:
  struct FreeRing {
    void operator()(ring_buffer* ring) const;
  };
  struct Passed {
    Fd event;
    BpfLink link;
  };
  Result<> set_wanted();
  std::vector<KernelEventSums> read_sums() const;

  std::vector<NamedEvent> events_;
  std::uint32_t stacks_per_second_;
  fathom_bpf* skeleton_ = nullptr;
  std::unique_ptr<ring_buffer, FreeRing> ring_;
  std::vector<kernel_event_record> taken_;
  std::vector<Passed> passed_;                             // tracepoints
  CpuEvents counted_;                                      // the others
  std::optional<std::vector<KernelEventSums>> last_sums_;  // of detach()
};

}  // namespace fathom::sources
