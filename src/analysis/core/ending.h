// How the recorded program ended, where that was not by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/profile.h"

namespace fathom::analysis {

struct Ending {
  int signal = 0;  // that ended the program; 0: none, or not known, or it runs on
  std::optional<std::int32_t>
      pid;                 // of the program where it was attached to; nullopt: it was launched, or runs on
  bool not_known = false;  // it has ended, and nobody told how
  bool out_of_memory = false;  // the kernel killed for want of memory in its cgroup meanwhile
  std::string cgroup;
  std::optional<std::uint64_t> limit_bytes;  // of the cgroup, or of one above it; nullopt: there is none
};

Ending ending_of(const model::Profile& profile);
// Of one process: without a signal where it is another one that the signal ended.
Ending ending_of(const model::Profile& profile, const model::Process& process);

// "SIGKILL", "signal 40".
std::string signal_name(int signal);

}  // namespace fathom::analysis
