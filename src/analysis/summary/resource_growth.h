// The third axis of a problem, next to time and memory: descriptors, threads and children that a process takes and never gives
// back. It fails at a limit, whatever its memory does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/selection.h"
#include "analysis/heap/heap_trend.h"
#include "model/profile.h"

namespace fathom::analysis {

enum class CountedResource : std::uint8_t {
  kDescriptors,
  kThreads,
  kChildren,  // that live
  kZombies,   // that have ended, and that their parent has not waited for
};
std::string_view to_string(CountedResource resource);  // "descriptors", "threads", "children", "zombies"

// Who makes them: of all calls that do, where system calls were counted, else of those that samples and waits caught.
struct ResourceMaker {
  std::string site;  // the nearest function of the program's own code
  double share = 0;  // of the calls in code that gives none back
  double calls = 0;  // so many were seen; below five all are of this function, and it may be chance
  bool counted = false;
};

struct ResourceGrowth {
  CountedResource resource = CountedResource::kDescriptors;
  std::int32_t pid = 0;
  std::string process;           // its name
  double first = 0, last = 0;    // counts at both ends
  double seconds = 0;            // between them
  double per_s = 0;              // by a line through all of them
  std::uint64_t limit = 0;       // RLIMIT_NOFILE, pids.max; 0: unknown or none
  std::optional<double> left_s;  // until the limit at this rate
  // Of descriptors: what most of the newest are, "socket" or a path. Of threads: the function in which the new ones start, or
  // their name. Of children: the program that most of them run. "": unknown, or several.
  std::string kind = {};
  std::optional<ResourceMaker> maker = {};
};

// What a trend of counts must have to be called a growth: it rises to the end, by eight at least, and no step or pool that fills
// explains it. For `find_trend` of any source.
bool is_resource_growth(const Trend& trend);

// The one that meets its limit first is first; those without a limit follow, the fastest first.
std::vector<ResourceGrowth> find_resource_growth(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
