// Walks a stack that was copied with its registers, with the mappings of its process.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/abi/walk.h"
#include "binary/unwind/address_space.h"
#include "binary/unwind/unwinder.h"
#include "linux/events.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

// The tables of the modules must outlive it.
inline unwind::AddressSpace address_space_of(std::span<const CodeMapping> mappings) {
  unwind::AddressSpace space;
  for (const CodeMapping& mapping : mappings)
    space.add(ProcessAddress{mapping.start}, ProcessAddress{mapping.end}, mapping.bias,
              mapping.module->table);
  return space;
}

// Sets the user frames and the end of `seen`. `Copied` is sources::CopiedStackSample or sources::StackCopied.
template <class Copied>
void walk_copied(const unwind::AddressSpace& space, const Copied& copied, sources::StackSeen& seen) {
  unwind::UnwindInput input;
  input.pc = copied.instruction_pointer;
  input.sp = copied.stack_pointer;
  input.fp = copied.frame_pointer;
  input.stack_start = ProcessAddress{copied.stack_pointer};
  input.stack = copied.stack;
  thread_local std::vector<FrameAddress> frames;  // keeps its memory
  frames.clear();
  seen.end = static_cast<std::uint8_t>(unwind::Unwinder(space).unwind(input, frames));
  seen.user.clear();
  for (const FrameAddress& frame : frames) {
    const bool exact = frame.kind == FrameAddress::Kind::kInstructionPointer;
    seen.user.push_back(frame.address.value | (exact ? WALK_EXACT : 0));
  }
}

}  // namespace fathom::session
