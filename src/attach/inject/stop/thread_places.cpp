#include "attach/inject/stop/thread_places.h"

#include <fmt/format.h>

#include "base/files.h"
#include "linux/process/threads.h"

namespace fathom::inject {

Result<std::vector<ThreadPlace>> thread_places(int pid) {
  const auto tids = process::read_thread_ids(pid);
  if (!tids) return tl::unexpected<Error>(tids.error());
  std::vector<ThreadPlace> places;
  for (const int tid : *tids) {
    const auto call = read_file(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
    if (!call) continue;
    const std::string first = call->substr(0, call->find_first_of(" \n"));
    const bool waits = !first.empty() && first[0] >= '0' && first[0] <= '9';
    places.push_back({tid, waits ? "in system call " + first : "running", waits});
  }
  return places;
}

}  // namespace fathom::inject
