#include "analysis/core/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fathom::analysis {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// What turns the rest of a line around, or is a command to a terminal that reads UTF-8: U+0080 to U+009F (U+009B begins
// escape sequences as ESC [ does), marks of direction, line and paragraph separators. `sequence` is well-formed.
bool is_command(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 2) return (byte(0) == 0xC2 && byte(1) < 0xA0) || sequence == "\xD8\x9C";
  if (sequence.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80) return byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE);
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
}

template <class OnAscii>
std::string cleaned(std::string_view text, OnAscii on_ascii, bool for_terminal = false) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    if (length == 1) {
      out += on_ascii(text[0]);
    } else {
      out += for_terminal && is_command(text.substr(0, length)) ? kReplacement : text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string with_commas(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string seconds(double value) {
  const double size = std::fabs(value);
  // Three digits of 999.6 ms would be "1e+03 ms".
  if (size >= 99.995) return fmt::format("{:.0f} s", value);
  if (size >= 0.9995) return fmt::format("{:.2f} s", value);
  if (size >= 0.9995e-3) return fmt::format("{:.3g} ms", value * 1e3);
  if (size >= 0.9995e-6) return fmt::format("{:.3g} us", value * 1e6);
  return size == 0 ? "0 s" : fmt::format("{:.3g} ns", value * 1e9);
}

std::string bytes(double value) {
  constexpr std::array<std::string_view, 5> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::fabs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0 && std::llround(std::fabs(value)) == 1) return value < 0 ? "-1 byte" : "1 byte";
  return unit == 0 ? fmt::format("{:.0f} bytes", value) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string amount(double value, std::string_view unit) {
  if (unit == "ns") return seconds(value * 1e-9);
  if (unit == "bytes") return bytes(value);
  // Beyond 2^53 a double has no units left to show.
  if (std::fabs(value) > 9e15) return fmt::format("{:.3e} {}", value, printable(unit));
  if (unit == "samples" && std::llround(value) == 1) return "1 sample";
  return fmt::format("{} {}", with_commas(std::llround(value)), printable(unit));
}

std::string percent_number(double share) {
  const double points = share * 100;
  if (points != 0 && std::fabs(points) < 0.995) return fmt::format("{:.2f}", points);
  return fmt::format("{:.1f}", points);
}

std::string percent(double share) {
  return percent_number(share) + " %";
}

std::string percent_with_error(double share, double error) {
  const int known = error >= 0.005 ? 0 : error >= 0.0005 ? 1 : 2;
  if (known == 0 && share > 0 && share < 0.005) return "<1";
  return fmt::format("{:.{}f}", share * 100, std::min(known, std::fabs(share) >= 0.01 ? 1 : 2));
}

std::string counted(std::uint64_t count, std::string_view singular, std::string_view plural) {
  std::string text = with_commas(static_cast<std::int64_t>(count)) + " ";
  if (count == 1) return text + std::string(singular);
  return text + (plural.empty() ? std::string(singular) + "s" : std::string(plural));
}

std::string printable(std::string_view text) {
  return cleaned(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c; }, true);
}

std::string printable_lines(std::string_view text) {
  return cleaned(
      text, [](char c) { return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) ? '?' : c; },
      true);
}

std::string valid_utf8(std::string_view text) {
  return cleaned(text, [](char c) { return c; });
}

}  // namespace fathom::analysis
