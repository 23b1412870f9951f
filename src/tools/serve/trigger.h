// Conditions on a running process, in words: "cpu > 50%", "rss > 4g", "rss > +100m/min", "p99 futex > 50ms", "oom". Pure.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/core/wait_cause.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::serve {

struct Trigger {
  enum class What : std::uint8_t {
    kCpu,    // share of one core, of all processes of the target together
    kRss,    // resident bytes of all of them
    kSlope,  // growth of these, bytes per second
    kP99,    // 99th percentile of how long waits of `cause` took, in seconds
    kOom,    // the kernel killed a process because memory was short
  };
  What what = What::kCpu;
  bool above = true;  // false: "<"
  double limit = 0;
  analysis::Cause cause = analysis::Cause::kUnknown;  // of kP99
  std::string text;                                   // as it was given
};

// 99th percentiles in seconds by cause, of waits with their weights. Negative: too few waits of this cause to say.
using WaitP99 = std::array<double, analysis::kCauseCount>;
WaitP99 wait_p99(const model::Profile& stretch);

// kUsage: with what can be said.
Result<Trigger> parse_trigger(std::string_view text);

// What a target has used so far.
struct TriggerReading {
  std::uint64_t time_ns = 0;
  double cpu_s = 0;  // since the first reading
  double rss_bytes = 0;
  std::optional<WaitP99> p99_s = {};  // where a stretch has ended since the last reading
  // Of the control group of the target, or of the machine; nullopt: unknown.
  std::optional<std::uint64_t> oom_kills = {};
};

// Watches one condition over readings in order of time.
class TriggerWatch {
 public:
  explicit TriggerWatch(Trigger trigger) : trigger_(std::move(trigger)) {}
  // The reason, the moment that the condition begins to hold: over a second for cpu, over ten for a slope. Again only after it did not
  // hold for ten seconds.
  std::optional<std::string> take(const TriggerReading& reading);
  // It may begin to hold when the target has no process any more.
  bool outlives_target() const { return trigger_.what == Trigger::What::kOom; }

 private:
  std::optional<double> value(const TriggerReading& reading);
  std::optional<std::string> take_oom(const TriggerReading& reading);

  Trigger trigger_;
  std::deque<TriggerReading> readings_;
  std::optional<std::uint64_t> oom_kills_;
  bool armed_ = true;
  std::uint64_t held_ns_ = 0;  // when it held last
};

}  // namespace fathom::serve
