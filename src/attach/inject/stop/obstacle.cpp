#include "attach/inject/stop/obstacle.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "linux/process/standstill.h"
#include "linux/process/status.h"
#include "linux/process/threads.h"

namespace fathom::inject {
namespace {

// Whether the tracer is a thread of this process, which traces while it stops the target.
bool is_ours(int tracer) {
  const auto status = process::read_status(tracer);
  return status && status->pid == ::getpid();
}

}  // namespace

Obstacle obstacle_of(int pid) {
  const auto status = process::read_status(pid);
  if (!status) return {};
  if (status->tracer_pid != 0 && !is_ours(status->tracer_pid))
    return {Obstacle::Kind::kDebugger, status->tracer_pid};
  if (process::standstill(pid) == process::Standstill::kFrozen) return {Obstacle::Kind::kFrozen, 0};
  return {};
}

Obstacle obstacle_of_threads(int pid) {
  const Obstacle first = obstacle_of(pid);
  const auto tids = process::read_thread_ids(pid);
  if (first.kind != Obstacle::Kind::kNone || !tids) return first;
  for (const int tid : *tids) {
    const auto text = read_file(fmt::format("/proc/{}/task/{}/status", pid, tid));
    const auto status = text ? process::parse_status(*text) : tl::unexpected<Error>(text.error());
    if (status && status->tracer_pid != 0 && !is_ours(status->tracer_pid))
      return {Obstacle::Kind::kDebugger, status->tracer_pid};
  }
  return {};
}

Result<> check_stoppable(int pid) {
  const Obstacle obstacle = obstacle_of(pid);
  switch (obstacle.kind) {
    case Obstacle::Kind::kNone:
      break;
    case Obstacle::Kind::kDebugger:
      return fail(ErrorKind::kPermission,
                  fmt::format("process {}: process {} traces it already", pid, obstacle.by),
                  "end that debugger or tracer first");
    case Obstacle::Kind::kFrozen:
      return fail(ErrorKind::kPermission, fmt::format("process {}: its control group is frozen", pid),
                  "thaw it first");
  }
  return {};
}

}  // namespace fathom::inject
