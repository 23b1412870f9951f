#include "cli/clock_time.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "cli/block_options.h"

namespace fathom::cli {
namespace {

constexpr std::uint64_t kClockSecondNs = 1'000'000'000;

struct Parts {
  std::optional<int> year, month, day;
  int hour = 0, minute = 0, second = 0;
  bool utc = false, yesterday = false;
};

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// A number of at most `most` digits, up to `largest`.
std::optional<int> take_number(std::string_view& text, std::size_t most, int largest) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(most, text.size()), value);
  if (error != std::errc{} || value < 0 || value > largest || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take_date(std::string_view& text, Parts& parts) {
  if (text.size() < 11 || text[4] != '-' || text[7] != '-') return true;  // there is none
  parts.year = take_number(text, 4, 2200);
  if (!parts.year || !take_word(text, "-")) return false;
  parts.month = take_number(text, 2, 12);
  if (!parts.month || *parts.month == 0 || !take_word(text, "-")) return false;
  parts.day = take_number(text, 2, 31);
  return parts.day && *parts.day != 0 && (take_word(text, "T") || take_word(text, " "));
}

std::optional<Parts> parts_of(std::string_view text) {
  Parts parts;
  parts.yesterday = take_word(text, "yesterday ");
  if (!take_date(text, parts)) return std::nullopt;
  if (parts.yesterday && parts.year) return std::nullopt;
  const auto hour = take_number(text, 2, 23);
  if (!hour || !take_word(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2, 59);
  if (!minute) return std::nullopt;
  parts.hour = *hour;
  parts.minute = *minute;
  if (take_word(text, ":")) {
    const auto second = take_number(text, 2, 60);
    if (!second) return std::nullopt;
    parts.second = *second;
  }
  parts.utc = take_word(text, "Z");
  if (!text.empty()) return std::nullopt;
  return parts;
}

tm day_of(std::uint64_t unix_ns, bool utc) {
  const auto seconds = static_cast<time_t>(unix_ns / kClockSecondNs);
  tm day{};
  if (utc)
    gmtime_r(&seconds, &day);
  else
    localtime_r(&seconds, &day);
  return day;
}

// On the day of `reference`, or `days` later.
std::optional<std::uint64_t> at(const Parts& parts, std::uint64_t reference_unix_ns, int days) {
  tm when = day_of(reference_unix_ns, parts.utc);
  if (parts.year) {
    when.tm_year = *parts.year - 1900;
    when.tm_mon = *parts.month - 1;
    when.tm_mday = *parts.day;
  }
  when.tm_mday += days;
  when.tm_hour = parts.hour;
  when.tm_min = parts.minute;
  when.tm_sec = parts.second;
  when.tm_isdst = -1;
  const time_t seconds = parts.utc ? timegm(&when) : mktime(&when);
  if (seconds < 0) return std::nullopt;
  return static_cast<std::uint64_t>(seconds) * kClockSecondNs;
}

// "now", "-10m": before `now`.
std::optional<std::uint64_t> relative(std::string_view text, std::uint64_t now_unix_ns) {
  if (text == "now") return now_unix_ns;
  if (!take_word(text, "-")) return std::nullopt;
  const auto ago = parse_duration_ns(text);
  if (!ago) return std::nullopt;
  return now_unix_ns > *ago ? now_unix_ns - *ago : 0;
}

std::uint64_t distance(std::uint64_t time, std::uint64_t start, std::uint64_t end) {
  if (time < start) return start - time;
  return time > end ? time - end : 0;
}

}  // namespace

std::optional<std::uint64_t> clock_time(std::string_view text, std::uint64_t now_unix_ns) {
  if (const auto found = relative(text, now_unix_ns)) return found;
  const auto parts = parts_of(text);
  if (!parts) return std::nullopt;
  const auto today = at(*parts, now_unix_ns, parts->yesterday ? -1 : 0);
  if (!today || parts->year || parts->yesterday || *today <= now_unix_ns) return today;
  return at(*parts, now_unix_ns, -1);
}

std::optional<std::uint64_t> clock_time_in(std::string_view text, std::uint64_t start_unix_ns,
                                           std::uint64_t end_unix_ns) {
  if (const auto found = relative(text, end_unix_ns)) return found;
  const auto parts = parts_of(text);
  if (!parts) return std::nullopt;
  if (parts->year) return at(*parts, end_unix_ns, 0);
  if (parts->yesterday) return at(*parts, end_unix_ns, -1);
  std::optional<std::uint64_t> nearest;
  for (const int days : {-1, 0, 1}) {
    const auto time = at(*parts, end_unix_ns, days);
    if (!time) continue;
    if (!nearest ||
        distance(*time, start_unix_ns, end_unix_ns) <= distance(*nearest, start_unix_ns, end_unix_ns))
      nearest = time;
  }
  return nearest;
}

}  // namespace fathom::cli
