// System calls that take and give back address space (record/bpf_programs/mappings.h).
#pragma once

#include <cstdint>

#include "record/bpf/part.h"

namespace fathom::sources {

class MemoryCalls final : public BpfPart {
 public:
  void configure(fathom_bpf& skeleton) override;
  Result<> attach() override;
  void detach() override { link_.reset(); }

  // Calls for which the ring had no room.
  std::uint64_t lost() const;

 private:
  fathom_bpf* skeleton_ = nullptr;
  BpfLink link_;
};

}  // namespace fathom::sources
