// How recorded programs ended, if not by a normal exit. Facts `end.PID` and `oom.PID` of docs/format.md; in
// older recordings `signal`, `exit`, `ended_pid` and `oom_cgroup`, which cover one process only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

struct Ending {
  int signal = 0;                   // that ended the program; 0: none, or not known, or it runs on
  std::optional<std::int32_t> pid;  // nullopt: it was launched, or runs on
  bool not_known = false;           // it has ended, but how is unknown
  bool out_of_memory = false;       // the OOM killer killed it
  std::string cgroup;               // out_of_memory: its own
  std::string gone_cgroup;  // its own, gone before its kills were counted: not known whether out_of_memory
  std::optional<std::uint64_t> limit_bytes;  // of the cgroup, or of one above it; nullopt: there is none

  bool by_itself() const { return signal == 0 && !not_known; }
  bool crashed() const;  // the signal is one that a defect of the program raises
};

// Of the launched or attached process; if there are several, the first that a signal ended. An OOM kill with
// an unknown victim is recorded here too.
Ending ending_of(const model::Profile& profile);
// Of one process: without a signal where it is another one that the signal ended.
Ending ending_of(const model::Profile& profile, const model::Process& process);
// All processes that are tracked separately and did not exit normally, by number. Empty for older
// recordings.
std::vector<Ending> endings_of(const model::Profile& profile);

// "SIGKILL", "signal 40".
std::string signal_name(int signal);

}  // namespace fathom::analysis
