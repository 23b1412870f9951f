// Probes of functions by programs at breakpoints (record/bpf_programs/probes.h). They need Linux 5.15.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "record/bpf/breakpoints.h"
#include "record/bpf/function_probes.h"
#include "record/bpf/part.h"

struct ring_buffer;

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
  std::vector<probe_span> take_spans() override;
  std::vector<OpenSpan> open_spans() const override;

 private:
  Breakpoints& breakpoints_;
  fathom_bpf* skeleton_ = nullptr;
  std::uint32_t count_ = 0;
  std::set<std::uint32_t> begins_;  // probes that begin spans
  std::vector<BpfLink> links_;
  struct FreeRing {
    void operator()(ring_buffer* ring) const;
  };
  std::unique_ptr<ring_buffer, FreeRing> spans_;  // from the first probe on that wants them
  std::vector<probe_span> ended_;
};

}  // namespace fathom::sources
