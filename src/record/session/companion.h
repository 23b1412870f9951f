// An observer of the recorded processes that runs along with a recording and stores its findings in it: the
// flight recorder (src/tools/flight). Called from the recording's thread; nothing here may block.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/profile.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/stack_resolver.h"

namespace fathom::session {

class Companion {
 public:
  // What the recording lends, as long as it lasts.
  struct Lent {
    model::Profile& profile;
    model::Builder& builder;
    ProcessTable& processes;
    StackResolver& stacks;
    // Requests a save of the current state at this step: the heap's state, and the composition of memory,
    // which is read again. The process is not stopped.
    std::function<void()> keep_now;
  };

  virtual ~Companion() = default;
  // Modules keep their unwind tables for it.
  virtual bool walks_stacks() const { return false; }
  // Once, before rights are given up. What cannot be had is done without.
  virtual void open() = 0;
  // It records: `lent` is valid from now on.
  virtual void begin(const Lent& lent) = 0;
  // Before what the engine saw meanwhile is taken in: of a process that has ended by now the mappings are known still.
  virtual void look_first(std::uint64_t /*now_ns*/) {}
  virtual void step(std::uint64_t now_ns) = 0;
  // After each step(), once the due processes' mappings have been read: releases what was held for that.
  virtual void looked() {}
  // How new rows since the last save get into the file. kKept: not now; they were taken out of `profile`.
  // kAnew: the file is rewritten with all that `profile` now holds, and replaces the previous one. Always
  // kAppend, or never. `last`: the recording ends, and kKept is not allowed.
  enum class Save : std::uint8_t { kAppend, kKept, kAnew };
  virtual Save before_save(model::Profile& /*profile*/, bool /*last*/) { return Save::kAppend; }
  // The recording has what it was made for, and ends as at a limit. Asked after each step().
  virtual bool enough() const { return false; }
  // The targets have ended, or a stop was requested; names are known, and the facts say how the recording
  // ended.
  virtual void finish() = 0;
};

}  // namespace fathom::session
