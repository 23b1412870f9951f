// How each recorded process ended, from three witnesses: the engine, which sees processes end; the pidfd of a target;
// and the count of kills in its cgroup, where the engine is blind. They become facts (docs/format.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linux/events.h"
#include "record/session/memory/oom_watch.h"

namespace fathom::session {

class ProcessEndings {
 public:
  static constexpr std::size_t kMostChildren = 256;  // that a signal ended: of a shell it may be thousands

  // Before it is recorded: what was launched or attached to.
  void add_target(std::int32_t pid) { targets_.insert(pid); }
  // The engine saw it, a target or a child, in the order of time.
  void saw(std::int32_t pid, const sources::ProcessEnd& end);
  // Of a target that has ended; nullopt: unknown.
  void saw_target(std::int32_t pid, std::optional<int> wait_status);

  // `end.PID`, and `oom.PID` or `oom_unknown.PID`, of every target that has ended and of children that a signal ended; `exit`, `signal` and
  // `ended_pid` of one target, for readers that know no more: the first that a signal ended, else the first.
  void tell(const OomWatch& memory, bool launched, std::map<std::string, std::string>& facts) const;

 private:
  struct End {
    std::optional<int> wait_status;
    std::optional<bool> out_of_memory;  // nullopt: the engine did not see it
  };
  static int signal_of(const End& end);
  std::optional<OomWatch::Group> group_of_kill(std::int32_t pid, const OomWatch& memory) const;
  // SIGKILL from an unknown sender in a group that was gone before its kills were counted: the group's name.
  std::string gone_group_of(std::int32_t pid, const End& end, const OomWatch& memory) const;
  bool met_the_limit(std::int32_t pid, const End& end, const OomWatch& memory) const;

  std::map<std::int32_t, End> ends_;
  std::set<std::int32_t> targets_;
  std::vector<std::int32_t> ended_targets_;  // in this order
};

}  // namespace fathom::session
