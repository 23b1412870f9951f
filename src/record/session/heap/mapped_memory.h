// Memory that a process maps directly, without an allocator, as a heap of its own in the profile: each call
// of mmap, mremap and brk is a block. It excludes mappings that allocators make for their blocks, which are
// already counted, and the tracer's own. Memory returned by madvise is recorded for the program and for
// allocators alike: it changes neither's blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "record/heap/mapping_collector.h"
#include "record/session/heap/heap_tables.h"
#include "record/session/heap/heap_target.h"
#include "record/session/tracking/event_sink.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

class MappedMemory {
 public:
  // All outlive this object. `heap`: what is known at the start (process, start_ns, from_start).
  MappedMemory(model::Profile& profile, model::Builder& builder, ProcessTable& processes, std::int32_t pid,
               model::Heap heap);

  // The allocators of the target and their rows, in the same order; again when there are more of them.
  void know(const HeapTarget& target, std::span<const model::HeapAllocatorId> rows);

  // In time order; those of other processes are passed over, and those in `own`: what the tracer mapped.
  void take(const EventSink::MemoryCall& event, std::span<const tracer_own_mapping> own);
  void write_slice(std::uint64_t now_ns, bool last);
  // The program executed another one: nothing of it is mapped any more.
  void end_image(std::uint64_t now_ns);
  // visit(start, end): what the program has mapped now.
  template <class Visit>
  void for_each_piece(const Visit& visit) const {
    collector_.book().for_each_piece(visit);
  }

 private:
  void add(const sources::heap::Slice& slice);

  // Which allocator makes the call, by its number in rows_; nothing: the program does.
  std::optional<std::uint32_t> allocator_of(model::StackId stack) const;
  // It is made by code of a module with an untraced allocator: that may map for itself or for the program.
  bool may_be_unseen(model::StackId stack) const;
  // Without the function of libc that makes the system call: its caller is who takes the memory.
  model::StackId caller_of(model::StackId stack) const;

  model::Profile& profile_;
  ProcessTable& processes_;
  std::int32_t pid_;
  HeapTables rows_;
  sources::heap::MappingCollector collector_;
  struct Code {
    std::uint32_t allocator;  // in rows_
    std::vector<allocators::CodeRange> ranges;
  };
  std::map<model::ModuleId, std::vector<Code>> allocator_code_;
  std::size_t known_ = 0;                    // allocators of the target
  std::set<model::ModuleId> libc_, unseen_;  // that hold libc; an allocator that is not traced
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;  // of profile stacks, counted from 1
  std::unordered_map<std::uint32_t, model::ThreadId> threads_;
  std::uint32_t slices_ = 0;
};

}  // namespace fathom::session
