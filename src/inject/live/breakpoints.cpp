#include "inject/live/breakpoints.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "process/threads.h"
#include "sources/perf/ring.h"

namespace fathom::inject {
namespace {

// Of more, the busiest: each takes four descriptors and a ring.
constexpr std::size_t kMostThreads = 64;
constexpr std::size_t kRingBytes = 1 << 16;  // 600 hits
constexpr std::size_t kLeastRingBytes = 1 << 12;
constexpr std::uint64_t kLeastOfAPoint = 64;
constexpr auto kPause = std::chrono::microseconds(500);
// The kernel may give registers back a moment after they were closed: also those of the watch before.
constexpr std::uint64_t kPatienceNs = 200'000'000;

std::string reason_of(int error_number) {
  switch (error_number) {
    case EPERM:
    case EACCES:
      return "this user may not set breakpoints";
    case ENOSPC:
      return "the processor's registers for breakpoints are in use, as by a debugger";
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
      return "this machine has no breakpoints";
    case EMFILE:
    case ENFILE:
      return "too few files may be open for breakpoints";
    default:
      return fmt::format("breakpoints cannot be set: {}", std::strerror(error_number));
  }
}

struct ThreadWatch {
  std::vector<Fd> events;                 // as the points are
  std::optional<sources::PerfRing> ring;  // of all of them; behind them, as they outlive it
};

// kNotFound: the thread has ended. kSystem: its registers are in use.
Result<ThreadWatch> open_thread(int thread, std::span<const WatchedPoint> points) {
  ThreadWatch watch;
  for (const WatchedPoint& each : points) {
    perf_event_attr attributes = breakpoint_attributes(each.address);
    Fd event(
        static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event)
      return errno == ESRCH
                 ? fail(ErrorKind::kNotFound, "the thread has ended")
                 : fail(errno == ENOSPC ? ErrorKind::kSystem : ErrorKind::kUnsupported, reason_of(errno));
    if (!watch.events.empty() &&
        ::ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, watch.events.front().get()) != 0)
      return fail(ErrorKind::kUnsupported, reason_of(errno));
    watch.events.push_back(std::move(event));
    // Users without rights have little memory for rings.
    for (std::size_t bytes = kRingBytes; !watch.ring; bytes /= 2) {
      auto ring = sources::PerfRing::map(watch.events.front().get(), bytes);
      if (ring)
        watch.ring.emplace(std::move(*ring));
      else if (bytes == kLeastRingBytes)
        return fail(ErrorKind::kUnsupported, ring.error().message);
    }
  }
  return watch;
}

std::vector<int> threads_to_watch(int pid) {
  auto threads = process::read_thread_ids(pid);
  if (!threads) return {};
  if (threads->size() <= kMostThreads) return std::move(*threads);
  std::vector<std::pair<std::uint64_t, int>> by_time;
  for (const int each : *threads) {
    const auto times = process::read_schedstat(pid, each);
    by_time.emplace_back(times ? times->ran_ns : 0, each);
  }
  std::ranges::sort(by_time, std::greater());
  threads->clear();
  for (std::size_t i = 0; i < kMostThreads; ++i) threads->push_back(by_time[i].second);
  return std::move(*threads);
}

}  // namespace

Result<Watch> watch_points(int pid, std::span<const WatchedPoint> points, const WatchLimits& limits) {
  assert(!points.empty() && points.size() <= kBreakpointRegisters);
  const std::uint64_t start_ns = monotonic_ns();
  Watch watch;
  std::vector<int> watched;
  std::vector<ThreadWatch> threads;
  for (const int each : threads_to_watch(pid)) {
    auto opened = open_thread(each, points);
    while (!opened && opened.error().kind == ErrorKind::kSystem && monotonic_ns() < start_ns + kPatienceNs) {
      std::this_thread::sleep_for(kPause);
      opened = open_thread(each, points);
    }
    if (!opened && opened.error().kind == ErrorKind::kNotFound) continue;
    if (!opened) return fail(ErrorKind::kUnsupported, opened.error().message);
    threads.push_back(std::move(*opened));
    watched.push_back(each);
  }
  if (threads.empty()) return fail(ErrorKind::kUnsupported, "the process has ended");

  // What the process pays at most while nobody reads: of many threads all of them together.
  const std::uint64_t most_of_a_point =
      std::clamp(limits.hits * 2 / threads.size(), kLeastOfAPoint, std::max(limits.hits / 2, kLeastOfAPoint));
  // All registers are ours now: from here on the process pays for its calls.
  bool refreshed = true;
  for (const ThreadWatch& thread : threads)
    for (const Fd& event : thread.events)
      refreshed &= ::ioctl(event.get(), PERF_EVENT_IOC_REFRESH, static_cast<int>(most_of_a_point)) == 0;
  if (!refreshed) return fail(ErrorKind::kUnsupported, reason_of(errno));
  const std::uint64_t from_ns = monotonic_ns();
  const std::uint64_t until_ns =
      from_ns + static_cast<std::uint64_t>(std::chrono::nanoseconds(limits.time).count());
  HitReader reader(points);
  const auto drain = [&] {
    for (ThreadWatch& thread : threads)
      thread.ring->drain([&](std::span<const std::byte> record) { reader.read(record); });
  };
  while (reader.hits.size() < limits.hits && monotonic_ns() < until_ns) {
    std::this_thread::sleep_for(kPause);
    drain();
    if (::syscall(SYS_tgkill, pid, pid, 0) != 0 && errno == ESRCH) break;
  }
  // They go one after the other: from here on calls may be met without their returns, and the other way round.
  const std::uint64_t end_ns = monotonic_ns();
  for (const ThreadWatch& thread : threads)
    for (const Fd& event : thread.events) ::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
  drain();

  watch.met = reader.hits.size() + reader.lost + reader.malformed;
  watch.lost = reader.lost + reader.malformed;
  watch.threads = threads.size();
  watch.all_threads = !reader.has_new_thread;
  if (const auto now = process::read_thread_ids(pid))
    for (const int each : *now) watch.all_threads &= std::ranges::find(watched, each) != watched.end();
  watch.hits = complete_stretch(std::move(reader.hits), from_ns, end_ns, most_of_a_point);
  threads.clear();
  watch.duration_ns = monotonic_ns() - start_ns;
  return watch;
}

}  // namespace fathom::inject
