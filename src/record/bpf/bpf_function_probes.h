// Probes of functions by programs at breakpoints (record/bpf_programs/probes.h). They need Linux 5.15.
#pragma once

#include <cstdint>
#include <vector>

#include "record/bpf/breakpoints.h"
#include "record/bpf/function_probes.h"
#include "record/bpf/part.h"

namespace fathom::sources {

class BpfFunctionProbes final : public BpfPart, public FunctionProbes {
 public:
  explicit BpfFunctionProbes(Breakpoints& breakpoints) : breakpoints_(breakpoints) {}

  void configure(fathom_bpf& skeleton) override;
  void detach() override { links_.clear(); }
  std::uint64_t kernel_memory_bytes() const override;

  Result<> add(const probe_wanted& wanted, const std::vector<ProbePoint>& points) override;
  std::vector<ProbeReading> read() const override;
  probe_counters sums() const override;

 private:
  Breakpoints& breakpoints_;
  fathom_bpf* skeleton_ = nullptr;
  std::uint32_t count_ = 0;
  std::vector<BpfLink> links_;
};

}  // namespace fathom::sources
