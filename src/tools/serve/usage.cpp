#include "tools/serve/usage.h"

#include <utility>

#include "linux/process/status.h"

namespace fathom::serve {

TriggerReading Usage::take(const std::vector<std::int32_t>& pids, std::uint64_t now_ns) {
  TriggerReading usage;
  usage.time_ns = now_ns;
  std::map<std::int32_t, Known> known;
  for (const std::int32_t pid : pids) {
    const auto stat = process::read_stat(pid);
    const auto status = process::read_status(pid);
    if (!stat || !status) continue;
    usage.rss_bytes += static_cast<double>(status->rss_anon + status->rss_file + status->rss_shmem);
    const Known now{stat->start_ticks, stat->user_ticks + stat->system_ticks};
    const auto before = known_.find(pid);
    if (before != known_.end() && before->second.start_ticks == now.start_ticks)
      used_ticks_ += now.cpu_ticks > before->second.cpu_ticks ? now.cpu_ticks - before->second.cpu_ticks : 0;
    else if (looked_ns_ != 0 && process::start_time_ns(*stat) >= looked_ns_)
      used_ticks_ += now.cpu_ticks;  // all of it since the last look
    known[pid] = now;
  }
  known_ = std::move(known);
  looked_ns_ = now_ns;
  usage.cpu_s = static_cast<double>(used_ticks_) / static_cast<double>(process::ticks_per_second());
  return usage;
}

}  // namespace fathom::serve
