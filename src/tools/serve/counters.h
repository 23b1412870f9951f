// What /metrics has beyond the memory that watch shows: CPU time and waits by cause of each target, and what the service itself did.
// Sums since the service began, so they go on when a target starts again. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/core/wait_cause.h"
#include "linux/metrics/families.h"
#include "model/profile.h"

namespace fathom::serve {

struct TargetCounters {
  double cpu_s = 0;
  std::array<double, analysis::kCauseCount> wait_s{};
  std::uint64_t samples = 0;
  // As the service knows them.
  bool up = false;
  std::uint64_t recordings = 0, windows = 0, failed_windows = 0, lost = 0;
  std::uint32_t frequency_hz = 0;
};

// Adds a stretch that follows the last one.
void add_stretch(TargetCounters& counters, const model::Profile& stretch);

struct ServiceFigures {
  double cpu_s = 0;
  double rss_bytes = 0;
  std::uint64_t served = 0, refused = 0;
};
// What became of windows that are also sent to a server.
struct PushFigures {
  std::uint64_t sent = 0, waiting = 0, lost = 0;
};
std::vector<metrics::Family> families_of(const PushFigures& push);

// By target. A target's name is its folder's, so labels need no more care.
std::vector<metrics::Family> families_of(const std::map<std::string, TargetCounters>& targets,
                                         const ServiceFigures& own);

}  // namespace fathom::serve
