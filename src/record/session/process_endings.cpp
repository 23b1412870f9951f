#include "record/session/process_endings.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

namespace fathom::session {

int ProcessEndings::signal_of(const End& end) {
  return end.wait_status && WIFSIGNALED(*end.wait_status) ? WTERMSIG(*end.wait_status) : 0;
}

void ProcessEndings::saw(std::int32_t pid, const sources::ProcessEnd& end) {
  const End seen{end.wait_status, end.out_of_memory};
  const bool is_target = targets_.contains(pid);
  if (!is_target) ends_.erase(pid);  // a reused number refers to its last process
  if (is_target || (signal_of(seen) != 0 && ends_.size() < kMostChildren + targets_.size()))
    ends_.insert_or_assign(pid, seen);
}

void ProcessEndings::saw_target(std::int32_t pid, std::optional<int> wait_status) {
  End& end = ends_[pid];
  if (wait_status) end.wait_status = wait_status;
  ended_targets_.push_back(pid);
}

bool ProcessEndings::met_the_limit(std::int32_t pid, const End& end, const OomWatch& memory) const {
  if (signal_of(end) != SIGKILL) return false;
  if (end.out_of_memory) return *end.out_of_memory;
  // The kernel counts its kills in a cgroup, without the victim: if others were killed too, it is unknown.
  const auto group = memory.group_of(pid);
  if (!group) return false;
  const auto killed_there = std::ranges::count_if(ends_, [&](const auto& entry) {
    const auto other = memory.group_of(entry.first);
    return signal_of(entry.second) == SIGKILL && other && other->cgroup == group->cgroup;
  });
  return group->kills >= static_cast<std::uint64_t>(killed_there);
}

std::string ProcessEndings::gone_group_of(std::int32_t pid, const End& end, const OomWatch& memory) const {
  if (signal_of(end) != SIGKILL || end.out_of_memory) return "";
  const auto group = memory.group_of(pid);
  return group && group->gone ? group->cgroup : "";
}

// It may have been moved into the group in which it died after its group was read: then the kernel counted a
// kill there that no process seen there explains. Any other group is unrelated.
std::optional<OomWatch::Group> ProcessEndings::group_of_kill(std::int32_t pid, const OomWatch& memory) const {
  if (const auto own = memory.group_of(pid); own && own->kills > 0) return own;
  const auto group = memory.kill();
  if (!group) return std::nullopt;
  const auto accounted = std::ranges::count_if(ends_, [&](const auto& entry) {
    const auto of = memory.group_of(entry.first);
    return signal_of(entry.second) == SIGKILL && of && of->cgroup == group->cgroup;
  });
  return group->kills > static_cast<std::uint64_t>(accounted) ? group : std::nullopt;
}

void ProcessEndings::tell(const OomWatch& memory, bool launched,
                          std::map<std::string, std::string>& facts) const {
  for (const auto& [pid, end] : ends_) {
    std::string& text = facts[fmt::format("end.{}", pid)];
    if (const int signal = signal_of(end); signal != 0)
      text = fmt::format("signal {}", signal);
    else
      text = end.wait_status ? fmt::format("exit {}", WEXITSTATUS(*end.wait_status)) : "unknown";
    if (!met_the_limit(pid, end, memory)) {
      if (std::string gone = gone_group_of(pid, end, memory); !gone.empty())
        facts[fmt::format("oom_unknown.{}", pid)] = std::move(gone);
      continue;
    }
    auto group = group_of_kill(pid, memory);
    // The kernel reported the kill, and the group was removed before its count was read: its limit is known
    // from before.
    if (!group && end.out_of_memory.value_or(false))
      if (auto own = memory.group_of(pid); own && own->limit_bytes) group = std::move(own);
    facts[fmt::format("oom.{}", pid)] =
        group ? (group->limit_bytes ? std::to_string(*group->limit_bytes) : "none") + " " + group->cgroup
              : "none";
    using Cause = OomWatch::Group::Cause;
    if (group && group->cause == Cause::kLimit)
      facts[fmt::format("oom_cause.{}", pid)] = "limit " + group->limited;
    if (group && group->cause == Cause::kMachine) facts[fmt::format("oom_cause.{}", pid)] = "machine";
  }
  if (ended_targets_.empty()) return;
  const auto killed =
      std::ranges::find_if(ended_targets_, [&](std::int32_t pid) { return signal_of(ends_.at(pid)) != 0; });
  const std::int32_t pid = killed == ended_targets_.end() ? ended_targets_.front() : *killed;
  const End& end = ends_.at(pid);
  const int signal = signal_of(end);
  if (signal != 0) facts["signal"] = std::to_string(signal);
  // A shell's status, and only of a launched one where a signal ended it.
  if (signal != 0 && launched)
    facts["exit"] = std::to_string(128 + signal);
  else if (signal == 0 && end.wait_status)
    facts["exit"] = std::to_string(WEXITSTATUS(*end.wait_status));
  if (!launched) facts["ended_pid"] = std::to_string(pid);
}

}  // namespace fathom::session
