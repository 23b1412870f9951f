#include "tools/oom/log_line.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/text.h"
#include "linux/process/fields.h"

namespace fathom::oom {
namespace {

using process::is_blank;
using process::next_field;
using process::skip_blanks;

// What stands before a message is short; a bracket further on belongs to the message.
constexpr std::size_t kLongestLogPrefix = 200;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return is_blank(c) || c == '\r' || c == '\0'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// "  93.216000": what stands in the brackets of seconds since boot.
bool is_uptime(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);  // dmesg -d: since the line before
  const std::size_t dot = text.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < text.size() &&
         std::ranges::all_of(text.substr(0, dot), is_digit) &&
         std::ranges::all_of(text.substr(dot + 1), is_digit);
}

// "T1234", "C1": the thread or the processor that printed it, if the kernel is configured to print that.
bool is_caller(std::string_view text) {
  return text.size() >= 2 && (text[0] == 'T' || text[0] == 'C') &&
         std::ranges::all_of(text.substr(1), is_digit);
}

std::string_view inside_bracket(std::string_view text) {
  const std::size_t end = text.find(']');
  return end == std::string_view::npos ? std::string_view() : trimmed(text.substr(1, end - 1));
}

void drop_bracket(std::string_view& text) {
  text.remove_prefix(text.find(']') + 1);
  skip_blanks(text);
}

// "6,1234,93216000,-;message" of /dev/kmsg.
bool take_kmsg_head(std::string_view& text, LogLine& line) {
  const std::size_t end = text.find(';');
  if (end == std::string_view::npos || end > kLongestLogPrefix) return false;
  std::string_view head = text.substr(0, end);
  std::string_view fields[3];
  for (std::string_view& field : fields) {
    const std::size_t comma = head.find(',');
    if (comma == 0 || comma == std::string_view::npos) return false;
    field = head.substr(0, comma);
    if (!std::ranges::all_of(field, is_digit)) return false;
    head.remove_prefix(comma + 1);
  }
  // Microseconds.
  const std::string padded =
      std::string(fields[2].size() < 7 ? 7 - fields[2].size() : 0, '0') + std::string(fields[2]);
  line.uptime = padded.substr(0, padded.size() - 6) + "." + padded.substr(padded.size() - 6);
  text.remove_prefix(end + 1);
  return true;
}

// "2026-03-05T10:11:12,381108+01:00": a date with a time of day.
bool is_date(std::string_view word) {
  static constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:dd";
  if (word.size() < kPattern.size()) return false;
  for (std::size_t i = 0; i < kPattern.size(); ++i)
    if (kPattern[i] == 'd' ? !is_digit(word[i])
                           : word[i] != kPattern[i] && !(kPattern[i] == 'T' && word[i] == ' '))
      return false;
  return true;
}

// With the parts of a second and the zone that follow it.
std::string_view take_date(std::string_view& text) {
  constexpr std::size_t kDate = 19;
  const std::string_view date = text.substr(0, text.find_first_of(" \t\"", kDate));
  text.remove_prefix(date.size());
  return date;
}

// "Dec  7 00:05:14 " or the first word, where that is a date.
std::string_view time_of(std::string_view& prefix) {
  constexpr std::size_t kSyslogTime = 15;
  if (prefix.size() >= kSyslogTime && is_letter(prefix[0]) && prefix[9] == ':' && prefix[12] == ':') {
    const std::size_t end =
        std::min(prefix.find(' ', kSyslogTime), prefix.size());  // parts of a second may follow
    const std::string_view time = prefix.substr(0, end);
    prefix.remove_prefix(end);
    return time;
  }
  // journalctl -o short-full: "Thu 2026-03-05 10:11:12 CET "
  constexpr std::size_t kWeekday = 4, kDate = 19;
  if (prefix.size() > kWeekday + kDate && prefix[3] == ' ' && is_date(prefix.substr(kWeekday))) {
    const std::string_view time = prefix.substr(kWeekday, kDate);
    prefix.remove_prefix(kWeekday + kDate);
    (void)next_field(prefix);  // the zone
    return time;
  }
  if (is_date(prefix)) return take_date(prefix);
  if (!prefix.empty() && is_digit(prefix[0])) return next_field(prefix);
  return {};
}

// What the commas and quotes of a table leave is none.
bool is_host(std::string_view word) {
  return std::ranges::all_of(word, [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == ':';
  });
}

// "kern: warning: [2026-01-12T20:27:31.9Z]: " and "[2026-01-12 20:27:31] ": of a console that is logged elsewhere.
void take_bracketed_date(std::string_view& text, LogLine& line) {
  const std::size_t at = text.substr(0, kLongestLogPrefix).find('[');
  if (at == std::string_view::npos || !line.time.empty()) return;
  const std::string_view inside = inside_bracket(text.substr(at));
  if (!is_date(inside)) return;
  line.time = inside;
  text.remove_prefix(at);
  drop_bracket(text);
  if (text.starts_with(':')) text.remove_prefix(1);
  skip_blanks(text);
}

// The quote that ends a field of a table (CSV) in which the message stands: it has no other one.
std::string_view without_last_quote(std::string_view text) {
  while (text.ends_with(',')) text.remove_suffix(1);
  if (text.ends_with('"') && std::ranges::count(text, '"') % 2 == 1) text.remove_suffix(1);
  return text;
}

}  // namespace

LogLine read_log_prefix(std::string_view prefix) {
  LogLine line;
  prefix = trimmed(prefix);
  line.time = time_of(prefix);
  skip_blanks(prefix);
  if (const std::string_view host = next_field(prefix); is_host(host) && !host.ends_with(':'))
    line.host = host;
  return line;
}

LogLine read_log_line(std::string_view text) {
  LogLine line;
  text = trimmed(text);
  while (text.starts_with('>')) text = trimmed(text.substr(1));  // quoted in a thread
  if (!take_kmsg_head(text, line)) {
    constexpr std::string_view kKernel = "kernel: ";
    const std::size_t kernel = text.substr(0, kLongestLogPrefix).find(kKernel);
    if (text.starts_with('[') && text.size() > 1 && is_letter(text[1]) &&
        inside_bracket(text).find(':') != std::string_view::npos) {  // dmesg -T
      line.time = inside_bracket(text);
      drop_bracket(text);
    } else if (kernel != std::string_view::npos &&
               text.substr(0, kernel).find(": ") == std::string_view::npos) {
      std::string_view prefix = text.substr(0, kernel);
      if (prefix.starts_with('[')) {  // journalctl -o short-monotonic
        line.uptime = inside_bracket(prefix);
        drop_bracket(prefix);
      } else {
        while (prefix.starts_with('"')) prefix.remove_prefix(1);
        line.time = time_of(prefix);
      }
      if (const std::string_view host = next_field(prefix); is_host(host)) line.host = host;
      text.remove_prefix(kernel + kKernel.size());
    } else if (is_date(text)) {  // dmesg --time-format iso, and collectors
      line.time = take_date(text);
      skip_blanks(text);
    }
    take_bracketed_date(text, line);
    // The last thing before the message, whatever stands in front of it.
    for (std::size_t at = 0; at < std::min(text.size(), kLongestLogPrefix); ++at) {
      if (text[at] != '[') continue;
      const std::string_view inside = inside_bracket(text.substr(at));
      if (!is_uptime(inside)) continue;
      if (line.time.empty() && at > 0) {
        std::string_view prefix = text.substr(0, at);
        line.time = time_of(prefix);
      }
      if (!inside.starts_with('+')) line.uptime = inside;
      text.remove_prefix(at);
      drop_bracket(text);
      break;
    }
  }
  if (text.starts_with('[') && is_caller(inside_bracket(text))) drop_bracket(text);
  line.message = trimmed(without_last_quote(text));
  return line;
}

namespace {

int month_of(std::string_view name) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = name.size() == 3 ? kMonths.find(name) : std::string_view::npos;
  return at == std::string_view::npos || at % 3 != 0 ? 0 : static_cast<int>(at / 3) + 1;
}

// "10:11:12.381"
std::optional<double> seconds_of_day(std::string_view text) {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  double seconds = 0;
  for (const std::size_t at : {std::size_t{0}, std::size_t{3}, std::size_t{6}}) {
    if (!is_digit(text[at]) || !is_digit(text[at + 1])) return std::nullopt;
    seconds = seconds * 60 + (text[at] - '0') * 10 + (text[at + 1] - '0');
  }
  double unit = 0.1;
  for (std::size_t i = 9; i < text.size() && is_digit(text[i]) && (text[8] == '.' || text[8] == ',');
       ++i, unit /= 10)
    seconds += unit * (text[i] - '0');
  return seconds;
}

int number(std::string_view digits) {
  int value = 0;
  for (const char c : digits)
    if (is_digit(c) && value < 100'000) value = value * 10 + (c - '0');
  return value;
}

// Days since a fixed day; a missing year is always the same.
double days(int year, int month, int day) {
  return static_cast<double>(
      std::chrono::sys_days(std::chrono::year(year) / std::chrono::month(static_cast<unsigned>(month)) /
                            std::chrono::day(static_cast<unsigned>(day)))
          .time_since_epoch()
          .count());
}

}  // namespace

std::optional<double> seconds_in(std::string_view time) {
  constexpr double kDay = 86'400;
  if (is_date(time)) {
    const auto of_day = seconds_of_day(time.substr(11));
    const int month = number(time.substr(5, 2)), day = number(time.substr(8, 2));
    if (!of_day || month < 1 || month > 12) return std::nullopt;
    return days(number(time.substr(0, 4)), month, day) * kDay + *of_day;
  }
  // "Thu Dec  7 00:05:14 2017", "Dec  7 00:05:14"
  std::string_view rest = time;
  std::string_view word = next_field(rest);
  int month = month_of(word);
  if (month == 0) month = month_of(word = next_field(rest));
  if (month == 0) return std::nullopt;
  const int day = number(next_field(rest));
  const auto of_day = seconds_of_day(next_field(rest));
  if (!of_day || day < 1 || day > 31) return std::nullopt;
  const int year = number(next_field(rest));
  return days(year >= 1970 ? year : 2000, month, day) * kDay + *of_day;
}

}  // namespace fathom::oom
