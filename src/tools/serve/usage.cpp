#include "tools/serve/usage.h"

#include "linux/process/status.h"

namespace fathom::serve {

TriggerReading usage_of(const std::vector<std::int32_t>& pids, std::uint64_t now_ns) {
  TriggerReading usage;
  usage.time_ns = now_ns;
  for (const std::int32_t pid : pids) {
    const auto stat = process::read_stat(pid);
    const auto status = process::read_status(pid);
    if (!stat || !status) continue;
    usage.cpu_s += static_cast<double>(stat->user_ticks + stat->system_ticks) /
                   static_cast<double>(process::ticks_per_second());
    usage.rss_bytes += static_cast<double>(status->rss_anon + status->rss_file + status->rss_shmem);
  }
  return usage;
}

}  // namespace fathom::serve
