// Walks stacks that the kernel's walker handed over, because code ran in them whose mapping was not known to it yet
// (bpf/copied_stacks.h). They come in time order with the mappings, so those of the table are those of that time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "session/tracking/process_table.h"
#include "sources/events.h"
#include "unwind/address_space.h"
#include "unwind/unwinder.h"

namespace fathom::session {

class CopiedStackWalker {
 public:
  // Fills in the user frames and the end. Modules of `processes` must have kept their tables.
  void walk(const ProcessTable& processes, const sources::StackCopied& copied, sources::StackSeen& seen) {
    const auto [space, is_new] = spaces_.try_emplace(seen.pid);
    if (is_new)
      for (const CodeMapping& mapping : processes.mappings(seen.pid))
        space->second.add(ProcessAddress{mapping.start}, ProcessAddress{mapping.end}, mapping.bias,
                          mapping.module->table);
    unwind::UnwindInput input;
    input.pc = copied.instruction_pointer;
    input.sp = copied.stack_pointer;
    input.fp = copied.frame_pointer;
    input.stack_start = ProcessAddress{copied.stack_pointer};
    input.stack = copied.stack;
    frames_.clear();
    seen.end = static_cast<std::uint8_t>(unwind::Unwinder(space->second).unwind(input, frames_));
    seen.user.clear();
    for (const FrameAddress& frame : frames_) {
      const bool exact = frame.kind == FrameAddress::Kind::kInstructionPointer;
      seen.user.push_back(frame.address.value | (exact ? WALK_EXACT : 0));
    }
  }

  // The mappings of the process are others now, or it is gone.
  void forget(std::int32_t pid) { spaces_.erase(pid); }

 private:
  std::map<std::int32_t, unwind::AddressSpace> spaces_;
  std::vector<FrameAddress> frames_;
};

}  // namespace fathom::session
