#include "attach/inject/live/breakpoints.h"

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
#include "linux/perf/ring.h"
#include "linux/process/threads.h"

namespace fathom::inject {
namespace {

// If there are more, watches the busiest ones: each takes four descriptors and a ring.
constexpr std::size_t kMostThreads = 64;
constexpr std::size_t kRingBytes = 1 << 16;  // 600 hits
constexpr std::size_t kLeastRingBytes = 1 << 12;
constexpr std::uint64_t kLeastOfAPoint = 64;
constexpr int kMostRepeats = 2;
constexpr auto kPause = std::chrono::microseconds(500);
// The kernel may free registers a moment after they were closed, even those of the previous watch.
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

// One perf event group: the first event switches the others on and off.
struct ThreadWatch {
  std::vector<Fd> events;                 // in the order of the points
  std::optional<sources::PerfRing> ring;  // shared by all of them; declared after them, because they must
                                          // outlive it
};

// kNotFound: the thread has ended. kSystem: its registers are in use.
Result<ThreadWatch> open_thread(int thread, std::span<const WatchedPoint> points) {
  ThreadWatch watch;
  for (const WatchedPoint& each : points) {
    perf_event_attr attributes = breakpoint_attributes(each.address);
    const int group = watch.events.empty() ? -1 : watch.events.front().get();
    Fd event(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, thread, -1, group, PERF_FLAG_FD_CLOEXEC)));
    if (!event)
      return errno == ESRCH
                 ? fail(ErrorKind::kNotFound, "the thread has ended")
                 : fail(errno == ENOSPC ? ErrorKind::kSystem : ErrorKind::kUnsupported, reason_of(errno));
    if (group >= 0 && ::ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, group) != 0)
      return fail(ErrorKind::kUnsupported, reason_of(errno));
    watch.events.push_back(std::move(event));
    // Unprivileged users have little memory for rings.
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

Result<Watch> watch_once(int pid, std::span<const WatchedPoint> points, const WatchLimits& limits) {
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

  // The most hits that the process pays for if this process stops reading, over all threads.
  const std::uint64_t most_of_a_point =
      std::clamp(limits.hits * 2 / threads.size(), kLeastOfAPoint, std::max(limits.hits / 2, kLeastOfAPoint));
  // All registers are set. The first event of each thread is enabled last: from then on the thread pays for
  // its calls.
  bool refreshed = true;
  for (const ThreadWatch& thread : threads)
    for (std::size_t i = thread.events.size(); i-- > 0;)
      refreshed &=
          ::ioctl(thread.events[i].get(), PERF_EVENT_IOC_REFRESH, static_cast<int>(most_of_a_point)) == 0;
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
  // Threads are stopped one after the other: from now on some calls of the freeing function may be missed.
  const std::uint64_t end_ns = monotonic_ns();
  for (const ThreadWatch& thread : threads) ::ioctl(thread.events.front().get(), PERF_EVENT_IOC_DISABLE, 0);
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

}  // namespace

Result<Watch> watch_points(int pid, std::span<const WatchedPoint> points, const WatchLimits& limits) {
  assert(!points.empty() && points.size() <= kBreakpointRegisters);
  auto watch = watch_once(pid, points, limits);
  // If other programs had this CPU while the last thread was being switched on, the first thread may already
  // have used up its hits.
  for (int again = 0; again < kMostRepeats && watch && watch->met != 0 && watch->hits.size() < watch->met / 4;
       ++again) {
    const std::uint64_t met = watch->met, duration_ns = watch->duration_ns;
    watch = watch_once(pid, points, limits);
    if (!watch) break;
    watch->met += met;
    watch->duration_ns += duration_ns;
  }
  return watch;
}

}  // namespace fathom::inject
