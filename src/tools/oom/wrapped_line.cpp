#include "tools/oom/wrapped_line.h"

#include <algorithm>

#include "base/text.h"

namespace fathom::oom {
namespace {

// "> " of a mail.
std::string_view without_quote(std::string_view line) {
  line = trimmed(line);
  while (line.starts_with('>')) line = trimmed(line.substr(1));
  return line;
}

}  // namespace

bool continues(std::string_view message, std::string_view line) {
  constexpr std::string_view kOfConstraint[] = {
      "nodemask=", "cpuset=", "mems_allowed=", "global_oom", "oom_memcg=",
      "task=",     "pid=",    "uid=",          "task_memcg="};
  constexpr std::string_view kOfKill[] = {
      "total-vm:", "anon-rss:", "file-rss:", "shmem-rss:", "UID:", "pgtables:", "oom_score_adj:", "score "};
  const std::string_view rest = without_quote(line);
  const auto begins = [&](std::string_view word) { return rest.starts_with(word); };
  if (message.find("oom-kill:constraint=") != message.npos) return std::ranges::any_of(kOfConstraint, begins);
  const bool is_kill =
      message.find("Killed process") != message.npos || message.find("ill process ") != message.npos;
  // "Memory cgroup out of memory:", and the rest below it.
  if (!is_kill) return trimmed(message).ends_with("ut of memory:") && begins("Killed process ");
  // "Killed process", and the number below it.
  if (trimmed(message).ends_with("Killed process")) return !rest.empty() && is_digit(rest.front());
  return std::ranges::any_of(kOfKill, begins);
}

std::string joined(std::string_view message, std::string_view line) {
  return std::string(trimmed(message)) + " " + std::string(without_quote(line));
}

}  // namespace fathom::oom
