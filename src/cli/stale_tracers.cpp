#include "cli/stale_tracers.h"

#include "base/clock.h"
#include "cli/notices.h"
#include "inject/tracer/stale_tracer.h"
#include "process/directory.h"

namespace fathom::cli {
namespace {

bool is_stale(std::int32_t pid) {
  return inject::holder(pid) == 0;
}

}  // namespace

void say_stale_tracers(std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids)
    if (is_stale(pid))
      say("fathom: process {} was left changed: the heap tracer of a fathom that was killed is in it\n"
          "try: fathom detach -p {}\n",
          pid, pid);
}

void repair_stale_tracers(std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids) {
    if (!is_stale(pid)) continue;
    const auto done = inject::detach_stale_tracer(pid);
    if (done)
      say("fathom: the heap tracer of a fathom that was killed was in the target and was taken out: {}\n",
          *done);
    else if (done.error().kind != ErrorKind::kNotFound)
      say("fathom: process {} was left changed by a fathom that was killed, and cannot be restored now: {}\n",
          pid, done.error().message);
  }
}

void repair_all_stale_tracers() {
  constexpr std::uint64_t kBudgetNs = 100'000'000;
  const std::uint64_t until_ns = monotonic_ns() + kBudgetNs;
  const auto pids = process::numbers_in("/proc");
  if (!pids) return;
  // The newest first: what is young is what a recent recording was about.
  for (auto pid = pids->rbegin(); pid != pids->rend() && monotonic_ns() < until_ns; ++pid) {
    const std::int32_t one = *pid;
    repair_stale_tracers({&one, 1});
  }
}

}  // namespace fathom::cli
