// Counts of system calls (record/bpf_programs/system_calls.h).
#pragma once

#include <vector>

#include "record/bpf/part.h"
#include "record/bpf/system_calls.h"

namespace fathom::sources {

class BpfSystemCalls final : public BpfPart, public SystemCalls {
 public:
  // `stacks_per_second`: on one CPU; the callers of others are not known.
  explicit BpfSystemCalls(std::uint32_t stacks_per_second) : stacks_per_second_(stacks_per_second) {}

  void configure(fathom_bpf& skeleton) override;
  Result<> attach() override;
  void detach() override { links_.clear(); }
  std::uint64_t kernel_memory_bytes() const override;

  std::vector<SystemCallReading> calls() const override;
  std::vector<FileReading> files() const override;
  system_call_counters sums() const override;

 private:
  std::uint32_t stacks_per_second_;
  fathom_bpf* skeleton_ = nullptr;
  std::vector<BpfLink> links_;
};

}  // namespace fathom::sources
