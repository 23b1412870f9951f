#include "attach/inject/tracer/detach_guardian.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "attach/inject/stop/obstacle.h"
#include "attach/inject/stop/raised_priority.h"
#include "attach/inject/tracer/remains.h"
#include "attach/inject/tracer/stale_tracer.h"
#include "linux/process/status.h"

namespace fathom::inject {
namespace {

// The profiler may take a moment to die, and a thread may stay inside the tracer: tries again soon at first,
// then rarely, because each try stops the target. A debugger or a freezer does not cost a try, and may be
// gone in a moment.
constexpr std::uint64_t kFirstPauseNs = 20'000'000, kLongestPauseNs = 600'000'000'000;
constexpr std::uint64_t kObstaclePauseNs = 250'000'000;

struct Message {
  std::int32_t pid = 0;  // 0: everything is restored, exit
  std::uint64_t start_ticks = 0;
};

bool is_alive(std::int32_t pid, std::uint64_t start_ticks) {
  const auto stat = process::read_stat(pid);
  return stat && stat->start_ticks == start_ticks && stat->state != 'Z' && stat->state != 'X';
}
bool is_alive(const Message& watched) {
  return is_alive(watched.pid, watched.start_ticks);
}

// A later profiler traces it: that one is responsible for the tracer in it.
bool is_held_by_another(int pid, int profiler) {
  const auto held = holder(pid);
  return held && *held != 0 && *held != profiler;
}

// true: nothing of fathom is left in it.
bool take_out(const Message& watched, int profiler) {
  if (!is_alive(watched) || is_held_by_another(watched.pid, profiler)) return true;
  // "Not found" may also mean a thread that ended or did not stop when needed: so the mappings decide.
  const auto done = detach_stale_tracer(watched.pid);
  if (!done && done.error().kind != ErrorKind::kNotFound) return false;
  return !has_remains(watched.pid);
}

void take_out_all(std::vector<Message> left, int profiler) {
  for (const Message& watched : left)
    if (is_alive(watched)) put_back_priorities(watched.pid);
  std::uint64_t tries_pause_ns = kFirstPauseNs;
  for (;;) {
    bool tried = false;
    std::erase_if(left, [&](const Message& watched) {
      const bool stands = obstacle_of_threads(watched.pid).kind != Obstacle::Kind::kNone && is_alive(watched);
      if (stands && has_remains(watched.pid)) return false;
      tried = true;
      return take_out(watched, profiler);
    });
    if (left.empty()) return;
    const std::uint64_t pause_ns = tried ? tries_pause_ns : kObstaclePauseNs;
    if (tried) tries_pause_ns = std::min(tries_pause_ns * 3 / 2, kLongestPauseNs);
    const timespec pause{static_cast<time_t>(pause_ns / 1'000'000'000),
                         static_cast<long>(pause_ns % 1'000'000'000)};
    ::nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void guard() {
  const int profiler = ::getppid();
  std::vector<Message> watched;
  for (Message message; process::GuardianProcess::hear(message);) {
    if (message.pid == 0) ::_exit(0);
    watched.push_back(message);
  }
  try {
    take_out_all(std::move(watched), profiler);
  } catch (const std::exception&) {
    // Out of memory: `fathom detach` remains as a remedy.
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
  if (guardian_.pid() < 0 || !stat) return;
  (void)guardian_.tell(Message{pid, stat->start_ticks});
  watched_.push_back({pid, stat->start_ticks});
}

std::vector<int> DetachGuardian::left() const {
  std::vector<int> pids;
  for (const Watched& watched : watched_)
    if (is_alive(watched.pid, watched.start_ticks) && has_remains(watched.pid) &&
        !is_held_by_another(watched.pid, ::getpid()) && std::ranges::find(pids, watched.pid) == pids.end())
      pids.push_back(watched.pid);
  return pids;
}

void DetachGuardian::dismiss() {
  if (guardian_.pid() < 0) return;
  if (left().empty())
    guardian_.dismiss(Message{});
  else
    guardian_.leave();
}

}  // namespace fathom::inject
