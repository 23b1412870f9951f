#include "analysis/core/empty_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/core/words.h"

namespace fathom::analysis {

Error nothing_selected(const model::Profile& profile, const Selection& selection) {
  const std::vector<model::Metric> metrics = metrics_in(profile);
  if (std::ranges::find(metrics, selection.metric) == metrics.end()) {
    std::string known;
    for (const model::Metric metric : metrics)
      known += (known.empty() ? "--metric " : " or --metric ") + std::string(model::to_string(metric));
    return {ErrorKind::kNotFound, fmt::format("no samples of metric {}", model::to_string(selection.metric)),
            known};
  }
  if (selection.pid &&
      std::ranges::find(profile.processes, *selection.pid, &model::Process::pid) == profile.processes.end())
    return {ErrorKind::kNotFound, fmt::format("process {} is not in the recording", *selection.pid),
            "fathom report FILE --threads, which lists processes and threads"};
  if (selection.thread)
    return {ErrorKind::kNotFound,
            fmt::format("no samples of thread '{}' in this selection", *selection.thread),
            "fathom report FILE --threads, which lists the threads"};
  if (selection.stacks)
    return {ErrorKind::kNotFound, "no sample has a stack that --focus and --ignore take",
            "without them; of waits and the heap: --metric off-cpu, --metric heap-live"};
  if (selection.pid)
    return {ErrorKind::kNotFound, fmt::format("no samples of process {} in this selection", *selection.pid),
            "fathom report FILE --threads, which lists processes and threads"};
  if (selection.from_ns || selection.to_ns)
    return {ErrorKind::kNotFound, "no samples in this part of the recording",
            fmt::format("another one: the recording has {}, and times count from its start",
                        seconds(profile.duration_s()))};
  return {ErrorKind::kNotFound, fmt::format("no samples of metric {}", model::to_string(selection.metric)),
          "fathom report FILE, which shows what the file holds"};
}

}  // namespace fathom::analysis
