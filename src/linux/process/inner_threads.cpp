#include "linux/process/inner_threads.h"

#include <fmt/format.h>
#include <unistd.h>

#include <unordered_set>

#include "base/files.h"
#include "linux/process/find.h"
#include "linux/process/status.h"
#include "linux/process/threads.h"

namespace fathom::process {
namespace {

std::optional<std::int32_t> read_inner_number(std::int32_t pid, std::int32_t tid) {
  const auto text = read_file(fmt::format("/proc/{}/task/{}/status", pid, tid));
  if (!text) return std::nullopt;
  const auto status = parse_status(*text);
  if (!status || status->namespace_pids.empty()) return std::nullopt;
  return status->namespace_pids.back();
}

}  // namespace

InnerThreads::InnerThreads(std::int32_t pid) {
  const bool is_ours = read_namespaces(pid).pid == read_namespaces(::getpid()).pid;
  proc_.threads = [pid]() -> std::optional<std::vector<std::int32_t>> {
    auto threads = read_thread_ids(pid);
    if (!threads) return std::nullopt;
    return std::move(*threads);
  };
  proc_.inner_number = [pid, is_ours](std::int32_t tid) {
    return is_ours ? std::optional(tid) : read_inner_number(pid, tid);
  };
}

void InnerThreads::refresh() {
  const auto threads = proc_.threads();
  const std::unordered_set<std::int32_t> there =
      threads ? std::unordered_set(threads->begin(), threads->end()) : std::unordered_set<std::int32_t>();
  std::erase_if(inner_, [&](const auto& entry) {
    if (there.contains(entry.first)) return false;
    outer_.erase(entry.second);
    return true;
  });
  for (const std::int32_t tid : there) {
    if (inner_.contains(tid)) continue;
    const auto inner = proc_.inner_number(tid);
    if (!inner) continue;
    inner_[tid] = *inner;
    outer_[*inner] = tid;
  }
}

std::optional<std::int32_t> InnerThreads::outer(std::int32_t inner_tid) const {
  const auto found = outer_.find(inner_tid);
  return found == outer_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace fathom::process
