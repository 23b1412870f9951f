// The targets' own probes of their heap, read by programs at breakpoints (record/bpf_programs/heap_probes.h). They need Linux 5.15.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "record/bpf/breakpoints.h"
#include "record/bpf/heap_probes.h"
#include "record/bpf/part.h"

namespace fathom::sources {

class BpfHeapProbes final : public BpfPart, public HeapProbes {
 public:
  explicit BpfHeapProbes(Breakpoints& breakpoints) : breakpoints_(breakpoints) {}

  void configure(fathom_bpf& skeleton) override;
  void detach() override;

  Result<> add(std::int32_t pid, const std::vector<HeapProbePoint>& points) override;
  void remove(std::int32_t pid) override;
  heap_probe_counters sums(std::int32_t pid) const override;

 private:
  Breakpoints& breakpoints_;
  fathom_bpf* skeleton_ = nullptr;
  std::map<std::int32_t, std::vector<BpfLink>> links_;  // by pid
  std::map<std::int32_t, std::uint32_t> rounds_;        // by pid: how often they were removed
};

}  // namespace fathom::sources
