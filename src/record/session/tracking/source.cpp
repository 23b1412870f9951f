#include "record/session/tracking/source.h"

#include "linux/perf/event.h"

namespace fathom::session {

Unsampled unsampled_by(Source& source, const ProcessTable& processes) {
  if (const Sampler* sampler = source.sampler()) return sampler->unsampled();
  const auto pids = processes.pids();
  return {
      {pids.begin(), pids.end()},
      "this user may use neither BPF nor perf events here",
      sources::remedy_for_rights(true),
  };
}

}  // namespace fathom::session
