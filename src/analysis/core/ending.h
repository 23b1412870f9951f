// How the recorded programs ended, where that was not by themselves. Facts `end.PID` and `oom.PID` of docs/format.md;
// of older recordings `signal`, `exit`, `ended_pid` and `oom_cgroup`, which tell of one process only.
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
  bool not_known = false;           // it has ended, and nobody told how
  bool out_of_memory = false;       // the kernel killed it for want of memory
  std::string cgroup;               // out_of_memory: its own
  std::string gone_cgroup;  // its own, gone before its kills were counted: not known whether out_of_memory
  std::optional<std::uint64_t> limit_bytes;  // of the cgroup, or of one above it; nullopt: there is none

  bool by_itself() const { return signal == 0 && !not_known; }
  bool crashed() const;  // the signal is one that a defect of the program raises
};

// Of what was launched or attached to; of several, of the first that a signal ended. A kill for want of memory of which
// it is not known whom it met stands here, too.
Ending ending_of(const model::Profile& profile);
// Of one process: without a signal where it is another one that the signal ended.
Ending ending_of(const model::Profile& profile, const model::Process& process);
// Of all processes that are told apart and did not end by themselves, by number. Empty of older recordings.
std::vector<Ending> endings_of(const model::Profile& profile);

// "SIGKILL", "signal 40".
std::string signal_name(int signal);

}  // namespace fathom::analysis
