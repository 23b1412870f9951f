// How the targets end, and where the kernel kills for memory: watched while they are recorded, facts of the recording afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "linux/events.h"
#include "model/profile.h"
#include "record/session/memory/oom_watch.h"
#include "record/session/process_endings.h"

namespace fathom::session {

// How the targets ended, those that have.
struct TargetEnds {
  struct End {
    std::int32_t pid = 0;
    std::optional<int> wait_status;  // as in wait(2); nullopt: unknown
  };
  std::vector<End> ends;
  bool launched = false;  // the one of them was
};

class EndWatch {
 public:
  // Before it is recorded: what was launched or attached to.
  void add_target(std::int32_t pid) { endings_.add_target(pid); }
  // Where the process lives, and what is counted there.
  void look(std::int32_t pid) { memory_.look(pid); }
  // Those that it watches already cost nothing to keep: a command may go into a cgroup of its own. Of many, the first.
  void look_again(std::span<const std::int32_t> pids);
  // Counts again: the cgroup in which a target was killed may be removed any moment.
  void refresh() { memory_.refresh(); }
  // What the engine saw, with its ProcessEnd.
  void saw(const sources::ThreadCpuTime& ended);
  // Facts of the recording.
  void tell(const TargetEnds& targets, model::Profile& profile);

 private:
  OomWatch memory_;
  ProcessEndings endings_;
};

// A command that makes itself a daemon ends at once, and its recording with it: what was to be seen comes later. Of `pids`, those
// that still run when the command has ended.
std::vector<std::int32_t> left_by_command(const TargetEnds& targets, std::span<const std::int32_t> pids);

}  // namespace fathom::session
