// Samples of the CPUs: one timer event per CPU, for all processes, and the program that walks the stack (record/bpf_programs/cpu.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/abi/cpu_events.h"
#include "record/bpf/cpu_events.h"
#include "record/bpf/part.h"

namespace fathom::sources {

class CpuSampling final : public BpfPart {
 public:
  // `event`: "cpu-clock" or "cycles".
  CpuSampling(std::uint32_t frequency_hz, std::string event)
      : frequency_hz_(frequency_hz), event_(std::move(event)) {}

  void configure(fathom_bpf& skeleton) override;
  Result<> add_cpu(int cpu, int output_fd) override;
  void remove_cpu(int cpu) override { events_.remove(cpu); }
  // Of the events that run and of those of CPUs that come later.
  bool set_frequency(std::uint32_t frequency_hz);
  void detach() override { events_.clear(); }

  // Summed over CPUs, since the start.
  cpu_counters counters() const;

 private:
  std::uint32_t frequency_hz_;
  std::string event_;
  fathom_bpf* skeleton_ = nullptr;
  CpuEvents events_;
};

}  // namespace fathom::sources
