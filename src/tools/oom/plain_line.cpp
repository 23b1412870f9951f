#include "tools/oom/plain_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "base/parse.h"
#include "base/text.h"
#include "tools/oom/log_line.h"

namespace fathom::oom {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kLongestPrefix = 200;

void drop_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

// ECMA-48: "ESC [ 32m", and what else begins with ESC [.
std::string without_escapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    if (i + 1 == text.size() || text[i + 1] != '[') continue;
    for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~');) ++i;
  }
  return out;
}

int digit_of(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

// The text of a string of JSON, which `text` begins behind the quote; to its end where the line was cut.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'u' && i + 4 < text.size()) {
      int code = 0;
      for (std::size_t k = i + 1; k <= i + 4; ++k)
        code = code < 0 || digit_of(text[k]) < 0 ? -1 : code * 16 + digit_of(text[k]);
      out += code >= 0x20 && code < 0x7f ? static_cast<char>(code) : code == 0x1b ? '\x1b' : ' ';
      i += 4;
    } else {
      out += c == 'n' || c == 'r' || c == 't' || c == 'b' || c == 'f' ? ' ' : c;
    }
  }
  return out;
}

// Of an object of JSON the text of the first of these keys that has one; "" where none has.
std::string text_in_json(std::string_view text, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) continue;
    std::string_view rest = text.substr(at + key.size());
    drop_blanks(rest);
    if (!rest.starts_with(':')) continue;
    rest.remove_prefix(1);
    drop_blanks(rest);
    if (rest.starts_with('"')) return unescaped(rest.substr(1));
  }
  return "";
}

constexpr std::array kMessageKeys = {"\"log\""sv,     "\"MESSAGE\""sv, "\"message\""sv,     "\"msg\""sv,
                                     "\"Message\""sv, "\"line\""sv,    "\"textPayload\""sv, "\"body\""sv};

std::string message_in_json(std::string_view text) {
  return text_in_json(text, kMessageKeys);
}

bool is_message_key(std::string_view text) {
  return std::ranges::any_of(kMessageKeys, [&](std::string_view key) { return text.starts_with(key); });
}

// The time that a collector has added, as a date: "2023-11-20T10:11:12.5Z "; "" where there is none.
std::string date_in_json(std::string_view text) {
  static constexpr std::array kMicroseconds = {"\"__REALTIME_TIMESTAMP\""sv};
  static constexpr std::array kKeys = {"\"time\""sv, "\"ts\""sv, "\"timestamp\""sv, "\"@timestamp\""sv,
                                       "\"receiveTimestamp\""sv};
  constexpr std::int64_t kYear2100 = 4'102'444'800'000'000;
  if (const auto us = parse_number<std::int64_t>(text_in_json(text, kMicroseconds));
      us && *us >= 0 && *us < kYear2100) {
    const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(*us)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss<std::chrono::microseconds> clock(time - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z ", int(date.year()),
                       unsigned(date.month()), unsigned(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
  }
  const std::string time = text_in_json(text, kKeys);
  return seconds_in(time) ? time + " " : "";
}

// "kern  :warn  : " of dmesg -x.
void drop_level(std::string_view& text) {
  static constexpr std::array kFacilities = {"kern"sv, "user"sv, "daemon"sv, "syslog"sv};
  static constexpr std::array kLevels = {"emerg"sv, "alert"sv,  "crit"sv, "err"sv,
                                         "warn"sv,  "notice"sv, "info"sv, "debug"sv};
  const auto take = [](std::string_view& rest, const auto& words) {
    const auto word =
        std::ranges::find_if(words, [&](std::string_view each) { return rest.starts_with(each); });
    if (word == words.end()) return false;
    rest.remove_prefix(word->size());
    drop_blanks(rest);
    if (!rest.starts_with(':')) return false;
    rest.remove_prefix(1);
    drop_blanks(rest);
    return true;
  };
  std::string_view rest = text;
  if (take(rest, kFacilities) && take(rest, kLevels)) text = rest;
}

}  // namespace

std::string plain_line(std::string_view line) {
  std::string plain = line.find('\x1b') == std::string_view::npos ? std::string(line) : without_escapes(line);
  std::string_view text = plain;
  drop_blanks(text);
  // A line of an object that is written over several begins with its key.
  if (text.starts_with('{') || is_message_key(text)) {
    const std::string message = message_in_json(text);
    if (!message.empty()) return date_in_json(text) + without_escapes(message);
  }
  if (constexpr std::string_view kMessage = "MESSAGE="; text.starts_with(kMessage))
    text.remove_prefix(kMessage.size());
  drop_level(text);
  return text.size() == plain.size() ? plain : std::string(text);
}

std::string uptime_in_json(std::string_view text) {
  drop_blanks(text);
  constexpr std::string_view kTime = "\"time\":";
  if (!text.starts_with(kTime)) return "";
  text.remove_prefix(kTime.size());
  drop_blanks(text);
  while (text.ends_with(',') || text.ends_with('\r')) text.remove_suffix(1);
  const bool is_number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return is_digit(c) || c == '.'; });
  return is_number ? fmt::format("[{}] ", text) : "";
}

std::string_view kernel_message(std::string_view text) {
  static constexpr std::array kBeginnings = {"oom-kill:constraint="sv,
                                             "Out of memory"sv,
                                             "Memory cgroup out of memory"sv,
                                             "memory: usage "sv,
                                             "memory+swap: usage "sv,
                                             "swap: usage "sv,
                                             "kmem: usage "sv,
                                             "Memory cgroup stats for "sv,
                                             "oom_reaper: reaped process "sv,
                                             "Tasks in "sv,
                                             "Task in "sv,
                                             "Killed process "sv,
                                             "Tasks state ("sv,
                                             "Mem-Info:"sv,
                                             "Free swap "sv,
                                             "Total swap "sv,
                                             "active_anon:"sv,
                                             "active_file:"sv,
                                             "unevictable:"sv,
                                             "slab_reclaimable:"sv,
                                             "[  pid  ]"sv,
                                             "[ pid ]"sv};
  std::size_t first = std::string_view::npos;
  for (const std::string_view beginning : kBeginnings) {
    const std::size_t at = text.substr(0, kLongestPrefix + beginning.size()).find(beginning);
    // "Memory cgroup out of memory" ends like another one, and "memory+swap: usage" holds a third.
    const bool is_word =
        at == 0 || (at != std::string_view::npos && text[at - 1] != '+' && text[at - 1] != ',');
    if (is_word) first = std::min(first, at);
  }
  return first == std::string_view::npos ? text : text.substr(first);
}

}  // namespace fathom::oom
