#include "cli/stale_tracers.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "attach/inject/stop/obstacle.h"
#include "attach/inject/tracer/stale_tracer.h"
#include "base/clock.h"
#include "base/files.h"
#include "cli/notices.h"
#include "linux/process/directory.h"

namespace fathom::cli {
namespace {

constexpr std::uint64_t kPatienceNs = 3'000'000'000;
constexpr auto kPause = std::chrono::milliseconds(50);

bool is_stale(std::int32_t pid) {
  return inject::holder(pid) == 0;
}

// The guardian of an earlier recording is at work: it may be done in a moment.
bool is_being_restored(std::int32_t pid) {
  const auto obstacle = inject::obstacle_of_threads(pid);
  if (obstacle.kind != inject::Obstacle::Kind::kDebugger) return false;
  const auto name = read_file(fmt::format("/proc/{}/comm", obstacle.by));
  return name && name->starts_with("fathom-guardian");
}

void repair(std::int32_t pid) {
  const std::uint64_t until_ns = monotonic_ns() + kPatienceNs;
  Result<std::string> done;
  std::string first;  // what was restored, where the rest took another try
  for (;;) {
    done = inject::detach_stale_tracer(pid);
    if (done && first.empty()) first = *done;
    const bool again = done ? is_stale(pid) : is_being_restored(pid);
    if (!again || monotonic_ns() >= until_ns) break;
    std::this_thread::sleep_for(kPause);
  }
  if (!first.empty())
    say("fathom: a heap tracer that an earlier fathom had left in the target was taken out: {}\n", first);
  if (!done && done.error().kind != ErrorKind::kNotFound && is_stale(pid))
    say("fathom: process {} was left changed by an earlier fathom, and cannot be restored now: {}\n", pid,
        done.error().message);
}

}  // namespace

void say_stale_tracers(std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids)
    if (is_stale(pid))
      say("fathom: process {} was left changed: a heap tracer that an earlier fathom left is in it\n"
          "try: fathom detach -p {}\n",
          pid, pid);
}

void repair_stale_tracers(std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids)
    if (is_stale(pid)) repair(pid);
}

void repair_all_stale_tracers(std::span<const std::int32_t> except) {
  constexpr std::uint64_t kBudgetNs = 100'000'000;
  const auto used_ns = [] { return clock_ns(CLOCK_THREAD_CPUTIME_ID); };
  const std::uint64_t until_ns = used_ns() + kBudgetNs;
  const auto pids = process::numbers_in("/proc");
  if (!pids) return;
  // The newest first: what is young is what a recent recording was about.
  for (auto pid = pids->rbegin(); pid != pids->rend() && used_ns() < until_ns; ++pid)
    if (std::ranges::find(except, *pid) == except.end() && is_stale(*pid)) repair(*pid);
}

}  // namespace fathom::cli
