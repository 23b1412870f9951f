#include "record/session/memory/rare_readings.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "linux/memory/counted_limits.h"
#include "model/lazy_free.h"

namespace fathom::session {
namespace {

constexpr std::size_t kMostWatched = 8;
constexpr std::uint64_t kLongestPause = 10'000'000'000;
constexpr std::uint64_t kTimesTheReading = 1000;  // at most 0.1 % of a CPU

constexpr std::pair<std::string_view, std::uint64_t sources::SmapsRollup::*> kSums[] = {
    {"memory.pss", &sources::SmapsRollup::proportional},
    {"memory.private_clean", &sources::SmapsRollup::private_clean},
    {"memory.private_dirty", &sources::SmapsRollup::private_dirty},
    {"memory.shared_clean", &sources::SmapsRollup::shared_clean},
    {"memory.shared_dirty", &sources::SmapsRollup::shared_dirty},
};

}  // namespace

void RareReadings::look(std::uint64_t now_ns, std::span<const std::int32_t> pids) {
  if (due_ns_ == 0) due_ns_ = now_ns + pause_ns_;
  if (now_ns < due_ns_) return;
  const std::uint64_t start = monotonic_ns();
  finish(now_ns, pids);
  pause_ns_ = std::min(pause_ns_ * 2, kLongestPause);
  due_ns_ = now_ns + std::max(pause_ns_, (monotonic_ns() - start) * kTimesTheReading);
}

void RareReadings::finish(std::uint64_t now_ns, std::span<const std::int32_t> pids) {
  for (const std::int32_t pid : pids.first(std::min(pids.size(), kMostWatched))) {
    Process& process = processes_[pid];
    model::keep_larger(process.limits, sources::read_counted_limits(pid));
    const auto rollup = sources::read_smaps_rollup(pid);
    if (!rollup) continue;
    process.lazy_free = rollup->lazy_free;
    add(now_ns, pid, process, *rollup);
  }
}

void RareReadings::add(std::uint64_t now_ns, std::int32_t pid, Process& process,
                       const sources::SmapsRollup& rollup) {
  if (!process.first_row) {
    process.first_row = profile_.series.size();
    for (const auto& sum : kSums) {
      model::Series& series = profile_.series.emplace_back();
      series.name = profile_.strings.intern(sum.first);
      series.unit = profile_.strings.intern("bytes");
      series.pid = pid;
    }
  }
  for (std::size_t i = 0; i < std::size(kSums); ++i)
    profile_.series[*process.first_row + i].points.push_back(
        {now_ns, static_cast<double>(rollup.*kSums[i].second)});
}

void RareReadings::put(std::map<std::string, std::string>& facts) const {
  for (const auto& [pid, process] : processes_) {
    model::put_counted_limits({pid, process.limits}, facts);
    if (process.lazy_free) model::put_lazy_free(pid, *process.lazy_free, facts);
  }
}

}  // namespace fathom::session
