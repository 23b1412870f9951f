// The allocators of a living process: which of its pages are in memory, and what its allocators hold. The process is
// neither stopped nor changed; needs ptrace access to it, no more.
#pragma once

#include <cstdint>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/state.h"
#include "base/result.h"
#include "linux/process/maps.h"

namespace fathom::allocators {

// Reads by process_vm_readv.
class ProcessReader : public MemoryReader {
 public:
  explicit ProcessReader(std::int32_t pid) : pid_(pid) {}
  bool read(std::uint64_t address, std::span<std::byte> into) override;

 private:
  std::int32_t pid_;
};

// Pure over the reader: `present` is what of the process is in memory.
AllocatorStates read_allocator_states(const std::vector<process::MapEntry>& maps,
                                      const AddressRanges& present, MemoryReader& reader,
                                      const ReadingLimits& limits);

// kNotFound: no such process. kPermission: no ptrace access. An allocator that cannot be read is no error: it says why.
Result<AllocatorStates> read_allocator_states(std::int32_t pid);

// What of the process's writable private memory is in memory, the shared page of zeros left out.
Result<AddressRanges> read_present_pages(std::int32_t pid, const std::vector<process::MapEntry>& maps);

}  // namespace fathom::allocators
