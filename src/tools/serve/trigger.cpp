#include "tools/serve/trigger.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/core/waits.h"
#include "analysis/core/words.h"
#include "base/text.h"
#include "tools/serve/seconds.h"

namespace fathom::serve {
namespace {

constexpr std::uint64_t kCpuOver = kSecondNs, kSlopeOver = 10 * kSecondNs, kRearmAfter = 10 * kSecondNs;

tl::unexpected<Error> wrong_trigger(std::string_view text) {
  return fail(ErrorKind::kUsage, fmt::format("'{}' is not a condition", analysis::printable(text)),
              "'cpu > 50%', 'rss > 4g', 'rss > +100m/min', 'p99 futex > 50ms' or 'oom'");
}

std::optional<double> take_number(std::string_view& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// "k", "MB", "GiB": powers of 1024.
std::optional<double> take_unit(std::string_view& text) {
  static constexpr std::string_view kPrefixes = "kmgt";
  double unit = 1;
  const std::size_t power = text.empty() ? kPrefixes.npos : kPrefixes.find(lower_case(text.substr(0, 1)));
  if (power != kPrefixes.npos) {
    unit = std::pow(1024.0, static_cast<double>(power + 1));
    text.remove_prefix(1);
    if (text.starts_with("i")) text.remove_prefix(1);
  }
  if (text.starts_with("B") || text.starts_with("b")) text.remove_prefix(1);
  return unit;
}

std::optional<double> seconds_of_unit(std::string_view unit) {
  if (unit == "s" || unit == "sec") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  return std::nullopt;
}

// "50ms", "1.5 s", "300us".
std::optional<double> duration_of(double number, std::string_view unit) {
  if (unit == "s") return number;
  if (unit == "ms") return number * 1e-3;
  if (unit == "us") return number * 1e-6;
  return std::nullopt;
}

std::optional<analysis::Cause> cause_named(std::string_view name) {
  for (std::size_t i = 0; i < analysis::kCauseCount; ++i)
    if (const auto cause = static_cast<analysis::Cause>(i); analysis::to_string(cause) == name) return cause;
  return std::nullopt;
}

// The smallest time that at least 99 % of all waits do not exceed.
double percentile_99(std::vector<std::pair<double, double>>& times) {
  constexpr double kLeastWaits = 20;
  double all = 0, seen = 0;
  for (const auto& [seconds, weight] : times) all += weight;
  if (all < kLeastWaits) return -1;
  std::ranges::sort(times);
  for (const auto& [seconds, weight] : times)
    if ((seen += weight) >= 0.99 * all) return seconds;
  return times.back().first;
}

}  // namespace

WaitP99 wait_p99(const model::Profile& stretch) {
  std::array<std::vector<std::pair<double, double>>, analysis::kCauseCount> times;  // seconds, weight
  const analysis::Waits waits(stretch, {.metric = model::Metric::kOffCpu});
  for (const analysis::SelectedWait& row : waits.rows()) {
    const auto add = [&](std::uint64_t ns, analysis::Cause cause) {
      if (ns != 0)
        times[static_cast<std::size_t>(cause)].emplace_back(static_cast<double>(ns) * 1e-9,
                                                            static_cast<double>(row.weight));
    };
    add(row.waited_ns, row.cause);
    add(row.queued_ns, row.queue_cause);
  }
  WaitP99 p99{};
  for (std::size_t i = 0; i < times.size(); ++i) p99[i] = percentile_99(times[i]);
  return p99;
}

Result<Trigger> parse_trigger(std::string_view text) {
  Trigger trigger;
  trigger.text = std::string(trimmed(text, " "));
  if (lower_case(trigger.text) == "oom") {
    trigger.what = Trigger::What::kOom;
    return trigger;
  }
  const std::size_t sign = text.find_first_of("<>");
  if (sign == text.npos) return wrong_trigger(text);
  const std::string name = lower_case(trimmed(text.substr(0, sign), " "));
  trigger.above = text[sign] == '>';
  std::string_view rest = trimmed(text.substr(sign + 1), " ");
  const bool slope = rest.starts_with('+');
  if (slope) rest.remove_prefix(1);
  const auto number = take_number(rest);
  if (!number) return wrong_trigger(text);
  trigger.limit = *number;
  rest = trimmed(rest, " ");
  if (name == "cpu") {
    if (rest != "%" || slope) return wrong_trigger(text);
    trigger.what = Trigger::What::kCpu;
    trigger.limit /= 100;
    return trigger;
  }
  if (name.starts_with("p99 ")) {
    const auto cause = cause_named(trimmed(std::string_view(name).substr(4), " "));
    const auto seconds = duration_of(trigger.limit, rest);
    if (!cause || !seconds || slope) return wrong_trigger(text);
    trigger.what = Trigger::What::kP99;
    trigger.cause = *cause;
    trigger.limit = *seconds;
    return trigger;
  }
  if (name != "rss") return wrong_trigger(text);
  const auto unit = take_unit(rest);
  if (!unit) return wrong_trigger(text);
  trigger.limit *= *unit;
  trigger.what = slope ? Trigger::What::kSlope : Trigger::What::kRss;
  if (!slope) return rest.empty() ? Result<Trigger>(std::move(trigger)) : wrong_trigger(text);
  if (!rest.starts_with('/')) return wrong_trigger(text);
  const auto seconds = seconds_of_unit(rest.substr(1));
  if (!seconds) return wrong_trigger(text);
  trigger.limit /= *seconds;
  return trigger;
}

// Of the reading that is long enough ago; nullopt: none is.
std::optional<double> TriggerWatch::value(const TriggerReading& reading) {
  if (trigger_.what == Trigger::What::kRss) return reading.rss_bytes;
  if (trigger_.what == Trigger::What::kP99) {
    const double p99_s = reading.p99_s ? (*reading.p99_s)[static_cast<std::size_t>(trigger_.cause)] : -1;
    return p99_s < 0 ? std::nullopt : std::optional(p99_s);
  }
  const std::uint64_t over = trigger_.what == Trigger::What::kCpu ? kCpuOver : kSlopeOver;
  readings_.push_back(reading);
  while (readings_.size() > 2 && readings_[1].time_ns + over <= reading.time_ns) readings_.pop_front();
  const TriggerReading& before = readings_.front();
  if (before.time_ns + over > reading.time_ns) return std::nullopt;
  const double seconds = static_cast<double>(reading.time_ns - before.time_ns) * 1e-9;
  if (trigger_.what == Trigger::What::kSlope) return (reading.rss_bytes - before.rss_bytes) / seconds;
  return std::max(reading.cpu_s - before.cpu_s, 0.0) / seconds;
}

// The count is that of a control group, which a target that starts again may have got anew.
std::optional<std::string> TriggerWatch::take_oom(const TriggerReading& reading) {
  if (!reading.oom_kills) return std::nullopt;
  const std::uint64_t before = oom_kills_.value_or(*reading.oom_kills);
  oom_kills_ = reading.oom_kills;
  if (*reading.oom_kills <= before) return std::nullopt;
  return fmt::format("out of memory: the kernel killed {}",
                     analysis::counted(*reading.oom_kills - before, "process", "processes"));
}

std::optional<std::string> TriggerWatch::take(const TriggerReading& reading) {
  if (trigger_.what == Trigger::What::kOom) return take_oom(reading);
  const auto now = value(reading);
  if (!now) return std::nullopt;
  const bool holds = trigger_.above ? *now > trigger_.limit : *now < trigger_.limit;
  if (!holds) {
    armed_ = armed_ || reading.time_ns >= held_ns_ + kRearmAfter;
    return std::nullopt;
  }
  held_ns_ = reading.time_ns;
  if (!std::exchange(armed_, false)) return std::nullopt;
  switch (trigger_.what) {
    case Trigger::What::kCpu:
      return fmt::format("{}: {:.1f} %", trigger_.text, 100 * *now);
    case Trigger::What::kRss:
      return fmt::format("{}: {}", trigger_.text, analysis::bytes(*now));
    case Trigger::What::kP99:
      return fmt::format("{}: {}", trigger_.text, analysis::seconds(*now));
    case Trigger::What::kSlope:
    case Trigger::What::kOom:
      break;
  }
  return fmt::format("{}: {}/s", trigger_.text, analysis::bytes(*now));
}

}  // namespace fathom::serve
