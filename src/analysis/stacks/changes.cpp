#include "analysis/stacks/changes.h"

#include <map>
#include <utility>

namespace fathom::stacks {

Changes compare(const Look& first, const Look& last) {
  std::map<std::pair<std::int32_t, std::int32_t>, const ThreadLook*> before;
  for (const ThreadLook& thread : first.threads) before[{thread.pid, thread.tid}] = &thread;
  Changes changes;
  std::size_t known = 0;
  for (std::size_t i = 0; i < last.threads.size(); ++i) {
    const ThreadLook& thread = last.threads[i];
    const auto old = before.find({thread.pid, thread.tid});
    if (old == before.end()) {
      ++changes.started;
      changes.moved.push_back(i);
      continue;
    }
    ++known;
    const ThreadLook& then = *old->second;
    const bool counts = then.slices != 0 && thread.slices != 0;
    const bool same = then.state != State::kRuns && thread.state == then.state &&
                      (counts ? then.slices == thread.slices : then.stack == thread.stack);
    (same ? changes.stayed : changes.moved).push_back(i);
  }
  changes.ended = first.threads.size() - known;
  return changes;
}

}  // namespace fathom::stacks
