// Something that looks at the recorded processes beside a recording, and leaves what it found in the recording: the
// flight recorder (src/flight). Called from the recording's thread; nothing here may wait.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/profile.h"
#include "session/tracking/process_table.h"
#include "session/tracking/stack_resolver.h"

namespace fathom::session {

class Companion {
 public:
  // What the recording lends, as long as it lasts.
  struct Lent {
    model::Profile& profile;
    model::Builder& builder;
    ProcessTable& processes;
    StackResolver& stacks;
    // What is known by now goes into the file at this step: the heap's state, and what memory consists of, which is
    // read anew. The process is not stopped.
    std::function<void()> keep_now;
  };

  virtual ~Companion() = default;
  // Modules keep their unwind tables for it.
  virtual bool walks_stacks() const { return false; }
  // Once, before rights are given up. What cannot be had is done without.
  virtual void open() = 0;
  // It records: from now on `lent` holds.
  virtual void begin(const Lent& lent) = 0;
  // Before what the engine saw meanwhile is taken in: of a process that has ended by now the mappings are known still.
  virtual void look_first(std::uint64_t /*now_ns*/) {}
  virtual void step(std::uint64_t now_ns) = 0;
  // After each step(), once the mappings of those that are due have been looked at: what was held for that is let go.
  virtual void looked() {}
  // How what came since the last save gets into the file. kKept: not now, and its rows have been taken out of `profile`.
  // kAnew: the file is written anew with all that `profile` now holds, and takes the place of the one before. Always
  // kAppend, or never. `last`: the recording ends, and it may not be kKept.
  enum class Save : std::uint8_t { kAppend, kKept, kAnew };
  virtual Save before_save(model::Profile& /*profile*/, bool /*last*/) { return Save::kAppend; }
  // The recording has what it was made for, and ends as at a limit. Asked after each step().
  virtual bool enough() const { return false; }
  // The targets have ended, or it was told to stop; names are known, and how it ended is among the facts.
  virtual void finish() = 0;
};

}  // namespace fathom::session
