#include "process/inner_threads.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "process/find.h"
#include "process/status.h"
#include "process/threads.h"

namespace fathom::process {

InnerThreads::InnerThreads(std::int32_t pid)
    : pid_(pid), ours_(read_namespaces(pid).pid == read_namespaces(::getpid()).pid) {}

std::optional<std::int32_t> InnerThreads::outer(std::int32_t inner_tid) const {
  if (ours_) {
    if (::access(fmt::format("/proc/{}/task/{}", pid_, inner_tid).c_str(), F_OK) != 0) return std::nullopt;
    return inner_tid;
  }
  const auto threads = read_thread_ids(pid_);
  if (!threads) return std::nullopt;
  for (const int tid : *threads) {
    const auto text = read_file(fmt::format("/proc/{}/task/{}/status", pid_, tid));
    if (!text) continue;
    const auto status = parse_status(*text);
    if (status && !status->namespace_pids.empty() && status->namespace_pids.back() == inner_tid) return tid;
  }
  return std::nullopt;
}

}  // namespace fathom::process
