// What servers of profiles receive of a recording: a profile for each kind of cost, in parts below their limits. Pure.
//
// CPU time and waits are sums over the recording, and so is what was allocated; what is live on the heap is an amount at its end.
// Servers add up sums and must not add up amounts, and tell the two apart by the duration: so each is a profile of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "present/exports/pprof_writer.h"

namespace fathom::push {

struct ServerProfile {
  std::string name;                // "process_cpu", "off_cpu", "memory": the label __name__
  bool is_sum = true;              // over time; else an amount at the end of the recording
  std::vector<std::string> parts;  // pprof, not packed; each is a profile, and their samples add up
};

// kNotFound if the recording has nothing of these.
Result<std::vector<ServerProfile>> server_profiles(const model::Profile& profile,
                                                   const present::PprofLimits& limits = {});

// The same bytes with gzip. kSystem: out of memory.
Result<std::string> gzip(std::string_view bytes);

}  // namespace fathom::push
