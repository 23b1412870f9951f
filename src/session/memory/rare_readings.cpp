#include "session/memory/limit_watch.h"

#include <algorithm>

#include "base/clock.h"
#include "sources/memory/counted_limits.h"

namespace fathom::session {
namespace {

constexpr std::size_t kMostWatched = 8;
constexpr std::uint64_t kLongestPause = 10'000'000'000;
constexpr std::uint64_t kTimesTheReading = 1000;  // at most 0.1 % of a CPU

}  // namespace

void LimitWatch::look(std::uint64_t now_ns, std::span<const std::int32_t> pids) {
  if (due_ns_ == 0) due_ns_ = now_ns + pause_ns_;
  if (now_ns < due_ns_) return;
  const std::uint64_t start = monotonic_ns();
  finish(pids);
  pause_ns_ = std::min(pause_ns_ * 2, kLongestPause);
  due_ns_ = now_ns + std::max(pause_ns_, (monotonic_ns() - start) * kTimesTheReading);
}

void LimitWatch::finish(std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids.first(std::min(pids.size(), kMostWatched)))
    model::keep_larger(limits_[pid], sources::read_counted_limits(pid));
}

void LimitWatch::put(std::map<std::string, std::string>& facts) const {
  for (const auto& [pid, limits] : limits_) model::put_counted_limits({pid, limits}, facts);
}

}  // namespace fathom::session
