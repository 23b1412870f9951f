// Memory that a process maps by itself, without an allocator, as a heap of its own in the profile: each call
// of mmap, mremap and brk a block. What allocators map to hand it out is left out, as the blocks in it are
// counted already; so is what the tracer maps for itself. What is given back by madvise is told for the
// program and for allocators alike: it changes neither's blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/event_sink.h"
#include "capture/heap_tables.h"
#include "capture/heap_target.h"
#include "capture/process_table.h"
#include "record/heap/mapping_collector.h"

namespace fathom::capture {

class MappedMemory {
 public:
  // All outlive this object. `heap`: what is known at the start (process, start_ns, from_start).
  MappedMemory(profile::Profile& profile, profile::Builder& builder, ProcessTable& processes,
               std::int32_t pid, profile::Heap heap);

  // The allocators of the target and their rows, in the same order; again when there are more of them.
  void know(const HeapTarget& target, std::span<const profile::HeapAllocatorId> rows);

  // In time order; those of other processes are passed over, and those in `own`: what the tracer mapped.
  void take(const EventSink::MemoryCall& event, std::span<const tracer_own_mapping> own);
  void write_slice(std::uint64_t now_ns, bool last);
  // visit(start, end): what the program has mapped now.
  template <class Visit>
  void for_each_piece(const Visit& visit) const {
    collector_.book().for_each_piece(visit);
  }
  // Address space that allocators took for themselves, less what they gave back by calls that we saw.
  std::uint64_t allocators_bytes() const { return allocators_bytes_; }

 private:
  // Which allocator makes the call, by its number in rows_; nothing: the program does.
  std::optional<std::uint32_t> allocator_of(profile::StackId stack) const;
  // Without the function of libc that makes the system call: its caller is who takes the memory.
  profile::StackId caller_of(profile::StackId stack) const;

  profile::Profile& profile_;
  ProcessTable& processes_;
  std::int32_t pid_;
  HeapTables rows_;
  record::heap::MappingCollector collector_;
  struct Code {
    std::uint32_t allocator;  // in rows_
    std::vector<allocators::CodeRange> ranges;
  };
  std::map<profile::ModuleId, std::vector<Code>> allocator_code_;
  std::size_t known_ = 0;  // allocators of the target
  std::set<profile::ModuleId> libc_;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;  // of profile stacks, counted from 1
  std::unordered_map<std::uint32_t, profile::ThreadId> threads_;
  std::uint64_t allocators_bytes_ = 0;
  std::uint32_t slices_ = 0;
};

}  // namespace fathom::capture
