// What a recording without end keeps: the rows of the newest window, until they are written. It takes all rows out of the
// recording's profile, hands each window on as a profile of its own when its names are known, and cuts the stretches that clients
// ask for out of the same rows. The recording itself never writes a file.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "record/session/companion.h"
#include "tools/serve/excerpt.h"
#include "tools/serve/kept_heap.h"
#include "tools/serve/pulls.h"

namespace fathom::serve {

struct KeeperOptions {
  std::uint64_t window_ns = 60'000'000'000;
  // A window is cut this long after its end: waits that ended in it have arrived, and new code has its names.
  std::uint64_t grace_ns = 1'500'000'000;
  std::size_t most_rows =
      2'000'000;  // of samples, of waits, of faults: what is older than that is counted as lost
  // Beyond these the recording ends, and its owner begins another one: its tables only grow.
  std::size_t most_stacks = 400'000, most_threads = 40'000;
  std::function<void(model::Profile)> on_window;  // in the recording's thread: must not block
  // CLOCK_REALTIME - CLOCK_MONOTONIC now. If the machine slept, or its clock was set, the recording ends too: windows are named after the
  // time of day. Empty: the clock is never set.
  std::function<std::uint64_t()> unix_offset_ns = {};
  Pulls* pulls = nullptr;  // outlives the keeper
};

class Keeper final : public session::Companion {
 public:
  explicit Keeper(KeeperOptions options)
      : options_(std::move(options)), heap_(options_.window_ns / kHeapSlicesPerWindow) {}
  ~Keeper() override;  // clients that still wait get no profile

  void step(const Lent& lent, std::uint64_t now_ns) override;
  Save before_save(const Lent& lent, bool last) override;

 private:
  static constexpr std::uint64_t kHeapSlicesPerWindow =
      6;  // more would cost a row for each call site, and show little more
  // Times of a thread, which the recording sums up from its beginning.
  struct Times {
    std::uint64_t cpu_ns = 0, ran_ns = 0, waited_ns = 0, queued_ns = 0, waits = 0, preemptions = 0,
                  unwalked_waits = 0, unwalked_ns = 0;
  };
  // A window that has ended and is not cut yet.
  struct Ended {
    std::uint64_t from_ns = 0, until_ns = 0;
    std::vector<Times> before, after;  // by thread
    model::Quality quality_before, quality_after;
    std::uint32_t frequency_hz = 0;
  };
  struct WaitKind {
    std::uint32_t thread, stack, waker_stack, waker, object;
    std::int32_t system_call;
    std::uint8_t state;
    bool throttled, returned_zero;
    auto operator<=>(const WaitKind&) const = default;
  };
  struct WaitSum {
    std::uint64_t waits = 0;
    double waited_ns = 0, queued_ns = 0;
    std::uint64_t argument = 0;
    std::int64_t result = 0;
  };

  void begin(const Lent& lent, std::uint64_t now_ns);
  void take_rows(model::Profile& profile);
  void count_waits(const model::Wait& wait);
  void end_windows(const Lent& lent, std::uint64_t now_ns);
  bool is_due(const Ended& ended, const Lent& lent, std::uint64_t now_ns) const;
  void cut_windows(const Lent& lent, std::uint64_t now_ns, bool all);
  void answer(const Lent& lent, std::uint64_t now_ns, bool last);
  model::Profile window(const Lent& lent, const Ended& ended, const std::vector<model::Wait>& open) const;
  model::Profile stretch(const Lent& lent, const Pull& pull, std::uint64_t until_ns,
                         const std::vector<model::Wait>& open) const;
  model::Profile heap(const Lent& lent, const Pull& pull, std::uint64_t now_ns) const;
  void cut_heap(const Lent& lent);
  model::Profile since_start(const model::Profile& profile, std::uint64_t now_ns) const;
  void add_rows(Excerpt& excerpt, const Ended& ended, const std::vector<model::Wait>& open, bool cpu,
                bool waits) const;
  void describe(model::Profile& part, const model::Profile& profile, std::uint64_t from_ns,
                std::uint64_t until_ns) const;
  void add_series(model::Profile& part, const model::Profile& profile, std::uint64_t from_ns,
                  std::uint64_t until_ns) const;
  bool clock_was_set() const;
  void weigh_by_rate(model::Profile& stretch) const;
  void forget_old(std::uint64_t now_ns);
  static std::vector<Times> times_of(const model::Profile& profile);

  KeeperOptions options_;
  bool begun_ = false, end_now_ = false;
  std::uint64_t start_ns_ = 0, unix_offset_ns_ = 0;  // CLOCK_REALTIME - CLOCK_MONOTONIC when it began
  std::uint64_t window_from_ns_ = 0, window_until_ns_ = 0;
  std::uint32_t frequency_hz_ = 0;
  std::vector<Times> times_;
  model::Quality quality_;
  std::uint64_t dropped_samples_ = 0, dropped_waits_ = 0;
  std::deque<Ended> ended_;
  std::vector<Pull> waiting_;

  struct RateSince {
    std::uint64_t from_ns;
    std::uint32_t hz;
  };
  std::deque<RateSince> rates_;

  std::deque<model::Sample> samples_;
  std::deque<model::Wait> waits_;
  std::deque<model::Fault> faults_;
  std::deque<model::MemoryRange> ranges_;
  std::vector<std::deque<model::Point>> points_;  // by series
  std::map<WaitKind, WaitSum> totals_;
  KeptHeap heap_;
};

}  // namespace fathom::serve
