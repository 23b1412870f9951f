// What probes of functions and of the heap share: breakpoints in programs, the values that they read there, and the buffers and
// the budget of the walks from there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/abi/probe_accounts.h"
#include "record/bpf/part.h"

namespace fathom::sources {

class Breakpoints final : public BpfPart {
 public:
  // More calls per second than that are counted, and neither walked nor timed.
  explicit Breakpoints(std::uint32_t calls_per_second) : calls_per_second_(calls_per_second) {}

  void configure(fathom_bpf& skeleton) override;
  Result<> attach() override;
  // From here on the programs do nothing, also at breakpoints whose descriptors a child of ours still has.
  void detach() override;

  // Values that follow each other; the number of the first.
  Result<std::uint32_t> add_values(std::span<const probe_value> values);
  // `pid`: -1 for all processes that run the file.
  Result<BpfLink> set(const bpf_program* program, std::int32_t pid, const std::string& path,
                      std::uint64_t offset, std::optional<std::uint64_t> semaphore,
                      std::uint64_t cookie) const;

 private:
  std::uint32_t calls_per_second_;
  fathom_bpf* skeleton_ = nullptr;
  std::vector<probe_value> values_;
};

}  // namespace fathom::sources
