// How a launched program ended, where that was not by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/profile.h"

namespace fathom::analysis {

struct Ending {
  int signal = 0;  // that ended the program; 0: none, or not known (it was attached to, or runs on)
  bool out_of_memory = false;  // the kernel killed for want of memory in its cgroup meanwhile
  std::string cgroup;
  std::optional<std::uint64_t> limit_bytes;  // of the cgroup, or of one above it; nullopt: there is none
};

Ending ending_of(const model::Profile& profile);

// "SIGKILL", "signal 40".
std::string signal_name(int signal);

}  // namespace fathom::analysis
