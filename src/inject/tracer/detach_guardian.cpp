#include "inject/tracer/detach_guardian.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "inject/stop/raised_priority.h"
#include "inject/tracer/stale_tracer.h"
#include "process/status.h"

namespace fathom::inject {
namespace {

// The profiler may take a moment to die, and a thread may stay inside of the tracer: first soon again, then
// seldom, as each try stops the target.
constexpr std::uint64_t kFirstPauseNs = 20'000'000, kLongestPauseNs = 30'000'000'000;
constexpr int kGuardianTries = 30;  // some seven minutes

struct Watched {
  std::int32_t pid = 0;  // 0: all is well, end
  std::uint64_t start_ticks = 0;
};

bool same_process(const Watched& watched) {
  const auto stat = process::read_stat(watched.pid);
  return stat && stat->start_ticks == watched.start_ticks && stat->state != 'Z' && stat->state != 'X';
}

// true: nothing of ours is in it any more.
bool take_out(const Watched& watched) {
  if (!same_process(watched)) return true;
  // Not found is also a thread that ended or did not stop while it was needed: so what is mapped decides.
  const auto done = detach_stale_tracer(watched.pid);
  if (!done && done.error().kind != ErrorKind::kNotFound) return false;
  return !holder(watched.pid).has_value();
}

void take_out_all(std::vector<Watched> left) {
  for (const Watched& watched : left)
    if (same_process(watched)) put_back_priorities(watched.pid);
  std::uint64_t pause_ns = kFirstPauseNs;
  for (int attempt = 0; attempt < kGuardianTries && !left.empty(); ++attempt) {
    if (attempt > 0) {
      const timespec pause{static_cast<time_t>(pause_ns / 1'000'000'000),
                           static_cast<long>(pause_ns % 1'000'000'000)};
      ::nanosleep(&pause, nullptr);
      pause_ns = std::min(pause_ns * 3 / 2, kLongestPauseNs);
    }
    std::erase_if(left, take_out);
  }
}

[[noreturn]] void guard() {
  std::vector<Watched> watched;
  for (Watched message; process::GuardianProcess::hear(message);) {
    if (message.pid == 0) ::_exit(0);
    watched.push_back(message);
  }
  try {
    take_out_all(std::move(watched));
  } catch (const std::exception&) {
    // Out of memory: `fathom detach` remains.
  }
  ::_exit(0);
}

}  // namespace

Result<DetachGuardian> DetachGuardian::start() {
  auto guardian = process::GuardianProcess::start("the target", guard);
  if (!guardian) return tl::unexpected<Error>(guardian.error());
  return DetachGuardian(std::move(*guardian));
}

void DetachGuardian::watch(int pid) {
  const auto stat = process::read_stat(pid);
  if (guardian_.pid() >= 0 && stat) (void)guardian_.tell(Watched{pid, stat->start_ticks});
}

void DetachGuardian::dismiss() {
  guardian_.dismiss(Watched{});
}

}  // namespace fathom::inject
