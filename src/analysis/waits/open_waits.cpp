#include "analysis/waits/open_waits.h"

#include <algorithm>
#include <vector>

namespace fathom::analysis {

double find_open_waits(const Waits& waits, const Selection& selection) {
  const model::Profile& profile = waits.profile();
  if (!profile.quality.truncated || selection.from_ns || selection.to_ns || selection.stacks) return 0;
  struct Known {
    double waited_ns = 0;
    std::uint64_t last_ns = 0;  // the thread was seen to do something else until then
  };
  std::vector<Known> threads(profile.threads.size());
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    Known& known = threads[wait.thread.value];
    known.waited_ns += static_cast<double>(weighted_ns(row.waited_ns, waits.weight(row)));
    known.last_ns = std::max(known.last_ns, wait.start_ns + wait.waited_ns + wait.queued_ns);
  }
  for (const model::Sample& sample : profile.all_samples()) {
    Known& known = threads[sample.thread.value];
    known.last_ns = std::max(known.last_ns, sample.time_ns);
  }
  const Filter filter(profile, selection);
  double open_ns = 0;
  for (std::uint32_t i = 0; i < threads.size(); ++i) {
    const model::Thread& thread = profile.threads[i];
    if (!filter.takes_thread({i}) || thread.end_ns != 0) continue;
    const std::uint64_t since = std::max({threads[i].last_ns, thread.start_ns, profile.meta.start_ns});
    if (since >= profile.meta.end_ns) continue;
    const double unknown = static_cast<double>(thread.waited_ns) - threads[i].waited_ns;
    open_ns += std::clamp(unknown, 0.0, static_cast<double>(profile.meta.end_ns - since));
  }
  return open_ns;
}

}  // namespace fathom::analysis
