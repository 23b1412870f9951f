#include "tools/flight/recording/triggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/core/words.h"

namespace fathom::flight {
namespace {

constexpr double kWindow_s = 2;

std::string bytes(std::uint64_t value) {
  return analysis::bytes(static_cast<double>(value));
}

double seconds_of(const Tick& tick) {
  return static_cast<double>(tick.time_ns) * 1e-9;
}

void keep(std::deque<analysis::TimedValue>& values, analysis::TimedValue value, double window_s) {
  values.push_back(value);
  while (values.front().time_s < value.time_s - window_s) values.pop_front();
}

}  // namespace

bool Triggers::may(std::uint64_t& next_ns, const Tick& tick) const {
  if (tick.time_ns < next_ns) return false;
  next_ns = tick.time_ns + options_.pause_ns;
  return true;
}

std::optional<std::string> Triggers::growth_step(const Tick& tick) {
  if (options_.each_bytes == 0) return std::nullopt;
  if (!step_from_) step_from_ = tick.resident;
  if (tick.resident < *step_from_ || tick.resident - *step_from_ < options_.each_bytes) return std::nullopt;
  const std::uint64_t grew = tick.resident - *step_from_;
  step_from_ = tick.resident;
  return fmt::format("resident memory grew by {} to {}", bytes(grew), bytes(tick.resident));
}

std::optional<std::string> Triggers::slope(const Tick& tick) {
  keep(anonymous_, {seconds_of(tick), static_cast<double>(tick.anonymous)}, kWindow_s);
  if (tick.limit_bytes == 0) return std::nullopt;
  const std::vector<analysis::TimedValue> window(anonymous_.begin(), anonymous_.end());
  const auto slope = analysis::slope_of(window);
  if (!slope) return std::nullopt;
  const double room = static_cast<double>(tick.limit_bytes - std::min(tick.limit_bytes, tick.held_bytes));
  const auto left = analysis::time_left(*slope, room);
  if (!left || left->seconds >= options_.soon_s || !may(next_slope_ns_, tick)) return std::nullopt;
  return fmt::format("anonymous memory grows by {}/s and would meet the limit of {} of {} in {}",
                     analysis::bytes(slope->per_second), bytes(tick.limit_bytes), tick.limit_of,
                     analysis::seconds(left->seconds));
}

std::optional<std::string> Triggers::nearness(const Tick& tick) {
  if (tick.limit_bytes == 0) return std::nullopt;
  const double share = static_cast<double>(tick.held_bytes) / static_cast<double>(tick.limit_bytes);
  if (share < options_.far) is_near_ = false;
  if (share < options_.near || std::exchange(is_near_, true)) return std::nullopt;
  return fmt::format("{} of the limit of {} of {} cannot be taken back", analysis::percent(share),
                     bytes(tick.limit_bytes), tick.limit_of);
}

std::optional<std::string> Triggers::events(const Tick& tick) {
  const std::uint64_t high =
      tick.high_events - std::min(tick.high_events, high_events_.value_or(tick.high_events));
  const std::uint64_t limit =
      tick.limit_events - std::min(tick.limit_events, limit_events_.value_or(tick.limit_events));
  high_events_ = tick.high_events;
  limit_events_ = tick.limit_events;
  if (high > 0 && may(next_high_ns_, tick))
    return fmt::format("memory.high of {} was met {}", tick.limit_of, analysis::counted(high, "time"));
  // Page cache that is taken back meets the limit all the time.
  const bool is_tight =
      static_cast<double>(tick.held_bytes) >= options_.far * static_cast<double>(tick.limit_bytes);
  if (limit > 0 && is_tight && may(next_limit_ns_, tick))
    return fmt::format("allocations met the limit of {} {}", tick.limit_of, analysis::counted(limit, "time"));
  return std::nullopt;
}

std::optional<std::string> Triggers::pressure(const Tick& tick) {
  if (!tick.stalled_us) return std::nullopt;
  keep(stalled_, {seconds_of(tick), *tick.stalled_us}, 1.05);
  const double span_s = stalled_.back().time_s - stalled_.front().time_s;
  if (span_s < 0.5) return std::nullopt;
  const double share = (stalled_.back().value - stalled_.front().value) * 1e-6 / span_s;
  if (share < options_.stalled_share || !may(next_pressure_ns_, tick)) return std::nullopt;
  return fmt::format("tasks stalled on memory for {} of the last {}", analysis::percent(share),
                     analysis::seconds(span_s));
}

std::vector<std::string> Triggers::take(const Tick& tick) {
  std::vector<std::string> marks;
  for (const auto trigger : {&Triggers::growth_step, &Triggers::slope, &Triggers::nearness, &Triggers::events,
                             &Triggers::pressure})
    if (auto mark = (this->*trigger)(tick)) marks.push_back(std::move(*mark));
  return marks;
}

}  // namespace fathom::flight
