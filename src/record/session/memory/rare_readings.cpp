#include "record/session/memory/rare_readings.h"

#include <algorithm>

#include "base/clock.h"
#include "linux/memory/counted_limits.h"
#include "linux/memory/lazy_free.h"
#include "model/lazy_free.h"

namespace fathom::session {
namespace {

constexpr std::size_t kMostWatched = 8;
constexpr std::uint64_t kLongestPause = 10'000'000'000;
constexpr std::uint64_t kTimesTheReading = 1000;  // at most 0.1 % of a CPU

}  // namespace

void RareReadings::look(std::uint64_t now_ns, std::span<const std::int32_t> pids) {
  if (due_ns_ == 0) due_ns_ = now_ns + pause_ns_;
  if (now_ns < due_ns_) return;
  const std::uint64_t start = monotonic_ns();
  finish(pids);
  pause_ns_ = std::min(pause_ns_ * 2, kLongestPause);
  due_ns_ = now_ns + std::max(pause_ns_, (monotonic_ns() - start) * kTimesTheReading);
}

void RareReadings::finish(std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids.first(std::min(pids.size(), kMostWatched))) {
    Process& process = processes_[pid];
    model::keep_larger(process.limits, sources::read_counted_limits(pid));
    if (const auto bytes = sources::read_lazy_free(pid)) process.lazy_free = bytes;
  }
}

void RareReadings::put(std::map<std::string, std::string>& facts) const {
  for (const auto& [pid, process] : processes_) {
    model::put_counted_limits({pid, process.limits}, facts);
    if (process.lazy_free) model::put_lazy_free(pid, *process.lazy_free, facts);
  }
}

}  // namespace fathom::session
