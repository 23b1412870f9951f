#include "record/session/target_ends.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/fd.h"

namespace fathom::session {

void EndWatch::look_again(std::span<const std::int32_t> pids) {
  constexpr std::size_t kMost = 8;
  for (const std::int32_t pid : pids.first(std::min(pids.size(), kMost))) memory_.look(pid);
}

void EndWatch::saw(const sources::ThreadCpuTime& ended) {
  if (!ended.process) return;
  endings_.saw(ended.pid, *ended.process);
  if (ended.process->out_of_memory) refresh();
}

void EndWatch::tell(const TargetEnds& targets, model::Profile& profile) {
  auto& facts = profile.meta.facts;
  for (const TargetEnds::End& end : targets.ends) {
    endings_.saw_target(end.pid, end.wait_status);
    if (targets.launched) facts["command_pid"] = std::to_string(end.pid);
  }
  refresh();
  endings_.tell(memory_, targets.launched, facts);
  if (const auto kill = memory_.kill()) {
    facts["oom_cgroup"] = kill->cgroup;
    if (kill->limit_bytes) facts["oom_limit_bytes"] = std::to_string(*kill->limit_bytes);
  }
}

std::vector<std::int32_t> left_by_command(const TargetEnds& targets, std::span<const std::int32_t> pids) {
  std::vector<std::int32_t> left;
  if (!targets.launched || targets.ends.empty()) return left;
  for (const std::int32_t pid : pids) {
    if (pid == targets.ends.front().pid) continue;
    const Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    pollfd ended{fd.get(), POLLIN, 0};
    if (fd && ::poll(&ended, 1, 0) == 0) left.push_back(pid);
  }
  return left;
}

}  // namespace fathom::session
