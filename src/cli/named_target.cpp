#include "cli/named_target.h"

#include <fmt/format.h>

#include <vector>

#include "linux/process/descendants.h"
#include "linux/process/find.h"
#include "linux/process/status.h"

namespace fathom::cli {

Result<std::int32_t> the_one_named(const std::string& name, const std::string& command) {
  const auto found = process::find_by_name(name);
  if (!found) return tl::unexpected<Error>(found.error());
  if (found->empty()) return tl::unexpected<Error>(process::no_process_named(name));
  if (found->size() == 1) return found->front().pid;
  std::vector<int> pids;
  for (const auto& process : *found) pids.push_back(process.pid);
  if (const auto master = process::starter_of(pids)) return *master;
  std::string candidates;
  for (const auto& process : *found) candidates += "\n  " + process::describe(process);
  return fail(ErrorKind::kUsage,
              fmt::format("{} processes are named '{}':{}", found->size(), name, candidates),
              fmt::format("{} -p {}", command, found->front().pid));
}

Result<> is_process(std::int32_t pid, const std::string& command) {
  const auto status = process::read_status(pid);
  if (!status || status->pid == pid) return {};
  const auto process = process::read_process(status->pid);
  return fail(
      ErrorKind::kUsage,
      fmt::format("{} is a thread of process {}{}, not a process", pid, status->pid,
                  process ? " (" + process->name + ")" : ""),
      fmt::format("{} -p {}{}", command, status->pid,
                  command == "fathom record"
                      ? fmt::format(", then fathom report --thread {}; or fathom record -t {}", pid, pid)
                      : ""));
}

}  // namespace fathom::cli
