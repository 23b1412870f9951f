// Observers of the recorded processes that run along with a recording and store their findings in it: the flight recorder
// (src/tools/flight), marks, a limit by precision. Called from the recording's thread; nothing here may block.
//
// Three moments of a recording: before what the engine saw is taken in, after it, and before rows go into the file. What a
// companion needs before the recording begins is its owner's business; what it wants of the recording, it asks `lent` for.
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
  // What the recording reads when a companion asks, and otherwise once a second or at its end. Empty in tests that need none.
  struct Readings {
    // Takes the names that were resolved since the last save.
    std::function<void()> take_names;
    // Whether all frames so far have the names that they will get; until then, naming them is no longer left to idle CPUs.
    std::function<bool()> names_are_known;
    // Brings the exact times of all threads (Thread::ran_ns and so on) up to now.
    std::function<void(std::uint64_t now_ns)> sum_threads;
    // The waits that are in progress, cut at `now_ns`, as rows of the lent profile's tables. They are no rows of it.
    std::function<std::vector<model::Wait>(std::uint64_t now_ns)> open_waits;
    // Ends a slice of each traced heap now and puts it into the profile, so that what happens later is in later slices. Empty: no heap.
    std::function<void()> cut_heap;
    // Changes the sampling rate from now on; false: this engine keeps the rate that it began with.
    std::function<bool(std::uint32_t frequency_hz)> set_frequency;
  };
  // What the recording lends, valid until the call returns.
  struct Lent {
    model::Profile& profile;
    model::Builder& builder;
    ProcessTable& processes;
    StackResolver& stacks;
    // Requests a save of the current state at this step: the heap's state, and the composition of memory,
    // which is read again. The process is not stopped.
    std::function<void()> keep_now;
    // In step(): calls this once the mappings of the processes that are due have been read, in the same step.
    std::function<void(std::function<void()>)> after_readings;
    // The recording has what it was made for, and ends as at a limit.
    std::function<void()> end_recording;
    Readings readings = {};
  };

  virtual ~Companion() = default;
  // Before what the engine saw meanwhile is taken in: of a process that has ended by now the mappings are known still. Once
  // more when the recording ends.
  virtual void before_events(const Lent& /*lent*/, std::uint64_t /*now_ns*/) {}
  virtual void step(const Lent& /*lent*/, std::uint64_t /*now_ns*/) {}
  // How new rows since the last save get into the file. kKept: not now; they were taken out of the profile.
  // kAnew: the file is rewritten with all that the profile now holds, and replaces the previous one. Always
  // kAppend, or never. `last`: the targets have ended, or a stop was requested; names are known, and the facts
  // say how the recording ended; kKept then means that the companion has stored it all and there is to be no file, which
  // needs an empty RecordOptions::output.
  enum class Save : std::uint8_t { kAppend, kKept, kAnew };
  virtual Save before_save(const Lent& /*lent*/, bool /*last*/) { return Save::kAppend; }
};

}  // namespace fathom::session
