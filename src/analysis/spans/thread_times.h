// What a thread did at each moment: it ran, it waited, or it could run and had no CPU. From the waits, which say when a thread left
// its CPU and when it was back; between them it ran. So the pieces of any time add up to it, exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

enum class Doing : std::uint8_t { kRunning, kQueued, kWaiting };

// Part of a thread's time, from <= t < to.
struct TimePiece {
  std::uint64_t from_ns = 0, to_ns = 0;
  Doing doing = Doing::kRunning;
  const model::Wait* wait = nullptr;  // of kQueued and kWaiting; lives as long as the ThreadTimes
  std::uint64_t length_ns() const { return to_ns - from_ns; }
};

class ThreadTimes {
 public:
  // Copies the waits and CPU samples of `profile`, by thread and in the order of time.
  explicit ThreadTimes(const model::Profile& profile);

  // False for threads that are known only because they woke another one: what they did was not recorded.
  bool is_recorded(model::ThreadId thread) const { return is_recorded_[thread.value] != 0; }

  struct Tick {
    std::uint64_t time_ns = 0;
    model::StackId stack;
    std::int64_t value = 0;
  };
  // CPU samples in from <= t < to.
  std::span<const Tick> samples(model::ThreadId thread, std::uint64_t from_ns, std::uint64_t to_ns) const;

  // visit(piece) in the order of time. Waits of a damaged file may overlap: each moment counts for the first.
  template <class Visit>
  void visit(model::ThreadId thread, std::uint64_t from_ns, std::uint64_t to_ns, Visit visit) const {
    const std::vector<model::Wait>& waits = waits_[thread.value];
    auto next = std::ranges::lower_bound(waits, from_ns, {}, &model::Wait::start_ns);
    if (next != waits.begin()) --next;  // it may reach into the time
    std::uint64_t at = from_ns;
    const auto give = [&](std::uint64_t end, Doing doing, const model::Wait* wait) {
      end = std::min(end, to_ns);
      if (end <= at) return;
      visit(TimePiece{at, end, doing, wait});
      at = end;
    };
    for (; next != waits.end() && next->start_ns < to_ns; ++next) {
      give(next->start_ns, Doing::kRunning, nullptr);
      give(next->start_ns + next->waited_ns, Doing::kWaiting, &*next);
      give(next->start_ns + next->waited_ns + next->queued_ns, Doing::kQueued, &*next);
    }
    give(to_ns, Doing::kRunning, nullptr);
  }

 private:
  std::vector<std::vector<model::Wait>> waits_;  // by thread
  std::vector<std::vector<Tick>> samples_;
  std::vector<char> is_recorded_;
};

}  // namespace fathom::analysis
