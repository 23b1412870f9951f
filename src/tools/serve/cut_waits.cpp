#include "tools/serve/cut_waits.h"

#include <algorithm>
#include <map>
#include <vector>

namespace fathom::serve {
namespace {

std::uint64_t overlap(std::uint64_t start, std::uint64_t end, std::uint64_t from, std::uint64_t until) {
  const std::uint64_t first = std::max(start, from), last = std::min(end, until);
  return last > first ? last - first : 0;
}

// The first part was read while the thread waited, and the second one is known since it does not: the walks may differ, and who woke
// the thread and what the call returned is in the second one only.
bool are_parts(const model::Wait& first, const model::Wait& second) {
  return first.unfinished && second.began_before && end_of(first) == second.start_ns &&
         first.thread == second.thread;
}

}  // namespace

std::optional<model::Wait> part_of(const model::Wait& wait, std::uint64_t from_ns, std::uint64_t until_ns) {
  const std::uint64_t woken = wait.start_ns + wait.waited_ns, end = end_of(wait);
  if (wait.start_ns == end) {
    if (end < from_ns || end >= until_ns) return std::nullopt;
    return wait;
  }
  model::Wait part = wait;
  part.waited_ns = overlap(wait.start_ns, woken, from_ns, until_ns);
  part.queued_ns = overlap(woken, end, from_ns, until_ns);
  if (part.waited_ns + part.queued_ns == 0) return std::nullopt;
  part.start_ns = std::max(wait.start_ns, from_ns);
  part.began_before = wait.began_before || wait.start_ns < from_ns;
  part.unfinished = wait.unfinished || end > until_ns;
  return part;
}

void join_parts(model::Profile& profile) {
  std::ranges::stable_sort(profile.waits, {}, &model::Wait::start_ns);
  std::map<std::uint32_t, std::size_t> open;  // by thread: the row of its unfinished wait
  std::vector<model::Wait> joined;
  joined.reserve(profile.waits.size());
  for (const model::Wait& wait : profile.waits) {
    const auto found = open.find(wait.thread.value);
    if (found != open.end() && are_parts(joined[found->second], wait)) {
      model::Wait& whole = joined[found->second];
      const std::uint64_t start = whole.start_ns, waited = whole.waited_ns + wait.waited_ns;
      const std::uint64_t queued = whole.queued_ns + wait.queued_ns;
      const bool began_before = whole.began_before;
      whole = wait;
      whole.start_ns = start;
      whole.waited_ns = waited;
      whole.queued_ns = queued;
      whole.began_before = began_before;
      --profile.quality.waits;
      if (!whole.unfinished) open.erase(found);
      continue;
    }
    joined.push_back(wait);
    if (wait.unfinished) open[wait.thread.value] = joined.size() - 1;
  }
  profile.waits = std::move(joined);
}

}  // namespace fathom::serve
