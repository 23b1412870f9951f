// Conditions on a running process, in words: "cpu > 50%", "rss > 4g", "rss > +100m/min". Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace fathom::serve {

struct Trigger {
  enum class What : std::uint8_t {
    kCpu,    // share of one core, of all processes of the target together
    kRss,    // resident bytes of all of them
    kSlope,  // growth of these, bytes per second
  };
  What what = What::kCpu;
  bool above = true;  // false: "<"
  double limit = 0;
  std::string text;  // as it was given
};

// kUsage: with what can be said.
Result<Trigger> parse_trigger(std::string_view text);

// What a target has used so far.
struct TriggerReading {
  std::uint64_t time_ns = 0;
  double cpu_s = 0;  // since the first reading
  double rss_bytes = 0;
};

// Watches one condition over readings in order of time.
class TriggerWatch {
 public:
  explicit TriggerWatch(Trigger trigger) : trigger_(std::move(trigger)) {}
  // The reason, the moment that the condition begins to hold: over a second for cpu, over ten for a slope. Again only after it did not
  // hold for ten seconds.
  std::optional<std::string> take(const TriggerReading& reading);

 private:
  std::optional<double> value(const TriggerReading& reading);

  Trigger trigger_;
  std::deque<TriggerReading> readings_;
  bool armed_ = true;
  std::uint64_t held_ns_ = 0;  // when it held last
};

}  // namespace fathom::serve
