// The allocators of a living process: which of its pages are in memory, and what its allocators hold. Neither
// stops nor changes the process; only needs ptrace access to it.
#pragma once

#include <cstdint>

#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/state.h"
#include "base/result.h"
#include "linux/process/maps.h"

namespace fathom::allocators {

// Reads with process_vm_readv.
class ProcessReader : public MemoryReader {
 public:
  explicit ProcessReader(std::int32_t pid) : pid_(pid) {}
  bool read(std::uint64_t address, std::span<std::byte> into) override;

 private:
  std::int32_t pid_;
};

// Pure over the reader: `present` is the process's resident memory.
AllocatorStates read_allocator_states(const std::vector<process::MapEntry>& maps,
                                      const AddressRanges& present, MemoryReader& reader,
                                      const ReadingLimits& limits);

// kNotFound: no such process. kPermission: no ptrace access. An allocator that cannot be read is not an
// error: its state has the reason.
Result<AllocatorStates> read_allocator_states(std::int32_t pid);

// The resident part of the process's writable private memory, without the shared page of zeros.
Result<AddressRanges> read_present_pages(std::int32_t pid, const std::vector<process::MapEntry>& maps);

}  // namespace fathom::allocators
