#include "capture/memory_series.h"

#include "process/status.h"

namespace fathom::capture {

void MemorySeries::add(std::uint64_t now_ns, std::int32_t pid, const char* name, const char* unit,
                       std::uint64_t value) {
  const auto [row, is_new] = rows_.try_emplace({pid, name}, profile_.series.size());
  if (is_new) {
    profile::Series series;
    series.name = profile_.strings.intern(name);
    series.unit = profile_.strings.intern(unit);
    series.pid = pid;
    profile_.series.push_back(series);
  }
  profile_.series[row->second].points.push_back({now_ns, static_cast<double>(value)});
}

void MemorySeries::sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids) {
  for (const std::int32_t pid : pids) {
    const auto use = process::read_memory(pid);
    if (!use) continue;
    add(now_ns, pid, "memory.rss_anon", "bytes", use->rss_anon);
    add(now_ns, pid, "memory.rss_file", "bytes", use->rss_file);
    add(now_ns, pid, "memory.rss_shmem", "bytes", use->rss_shmem);
    add(now_ns, pid, "memory.swap", "bytes", use->swap);
    add(now_ns, pid, "memory.major_faults", "count", use->major_faults);
  }
}

}  // namespace fathom::capture
