#include "tools/serve/named_processes.h"

#include <unistd.h>

#include <optional>

#include "linux/process/directory.h"
#include "linux/process/find.h"
#include "linux/process/status.h"
#include "tools/serve/seconds.h"

namespace fathom::serve {
namespace {

constexpr std::uint64_t kTimeToExecute = 3 * kSecondNs, kAllEvery = 10 * kSecondNs;

std::vector<int> pids_of_machine() {
  auto pids = process::numbers_in("/proc");
  if (!pids) return {};
  std::erase(*pids, ::getpid());
  return std::move(*pids);
}

bool has_name(int pid, const std::string& name) {
  const auto process = process::read_process(pid);
  return process && process::is_named(*process, name) && still_runs(pid);
}

}  // namespace

// The main thread of a process may end before the others.
bool still_runs(int pid) {
  const auto stat = process::read_stat(pid);
  const auto status = process::read_status(pid);
  if (!stat || !status || status->killed) return false;
  const bool main_thread_ended = stat->exiting || stat->state == 'Z' || stat->state == 'X';
  return !main_thread_ended || status->threads > 1;
}

NamedProcesses::NamedProcesses(std::string name)
    : NamedProcesses(std::move(name), {pids_of_machine, has_name}) {}

std::vector<std::int32_t> NamedProcesses::find(std::uint64_t now_ns) {
  const bool all = all_ns_ == 0 || now_ns >= all_ns_ + kAllEvery;
  if (all) all_ns_ = now_ns;
  std::vector<std::int32_t> found;
  std::map<int, std::uint64_t> others;
  for (const int pid : machine_.pids()) {
    const auto known = others_.find(pid);
    const std::uint64_t since = known == others_.end() ? now_ns : known->second;
    const bool skipped = !all && known != others_.end() && now_ns >= since + kTimeToExecute;
    if (!skipped && machine_.is_named(pid, name_))
      found.push_back(pid);
    else
      others.emplace(pid, since);
  }
  others_ = std::move(others);
  return found;
}

}  // namespace fathom::serve
