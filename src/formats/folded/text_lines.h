// What a line of folded text is: a stack with its count, a comment, or a message between stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::formats::folded_text {

inline constexpr int kDecimals = 3;  // what is kept of fractions

inline bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

// "12", "12.5": whole part and thousandths. nullopt if it is anything else or does not fit.
struct Count {
  std::int64_t whole = 0;
  std::int64_t thousandths = 0;
  bool fraction = false;
};
inline std::optional<Count> parse_count(std::string_view text) {
  Count count;
  if (text.empty() || !is_decimal(text[0])) return std::nullopt;
  std::size_t i = 0;
  for (; i < text.size() && is_decimal(text[i]); ++i) {
    const int digit = text[i] - '0';
    if (count.whole > (INT64_MAX - digit) / 10) return std::nullopt;
    count.whole = count.whole * 10 + digit;
  }
  if (i == text.size()) return count;
  if (text[i++] != '.') return std::nullopt;
  count.fraction = true;
  int decimals = 0;
  for (; i < text.size(); ++i) {
    if (!is_decimal(text[i])) return std::nullopt;
    if (decimals++ < kDecimals) count.thousandths = count.thousandths * 10 + (text[i] - '0');
  }
  for (; decimals < kDecimals; ++decimals) count.thousandths *= 10;
  return count;
}

// "300,0,-10": what austin writes with --full, of which the first is the time.
inline std::optional<Count> parse_first_of_three(std::string_view text) {
  const std::size_t first = text.find(','), second = text.find(',', first + 1);
  if (first == text.npos || second == text.npos) return std::nullopt;
  std::string_view memory = text.substr(second + 1);
  if (memory.starts_with('-')) memory.remove_prefix(1);
  if (!parse_count(text.substr(first + 1, second - first - 1)) || !parse_count(memory)) return std::nullopt;
  return parse_count(text.substr(0, first));
}

// Cuts the last word off when it is a count.
inline std::optional<Count> take_count(std::string_view& line, bool* of_three = nullptr) {
  std::size_t begin = line.size();
  while (begin > 0 && line[begin - 1] != ' ' && line[begin - 1] != '\t') --begin;
  if (begin == 0) return std::nullopt;
  std::optional<Count> count = parse_count(line.substr(begin));
  if (!count && (count = parse_first_of_three(line.substr(begin))) && of_three != nullptr) *of_three = true;
  if (count) line = line.substr(0, begin - 1);
  return count;
}

inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// A message between stacks, which may end in a number: "  File "a.py", line 10", "WARNING: lost 12", "[INFO] took 5".
// Stacks with a single frame look like it, so this is asked only where others have several. `line`: without its count.
inline bool is_message(std::string_view line) {
  if (line.empty() || is_blank(line.front())) return true;
  if (line.find(';') != std::string_view::npos) return false;
  if (line.front() == '[' && line.find("] ") != std::string_view::npos) return true;
  const std::size_t colon = line.find(": ");
  return line.back() == ':' || (colon != std::string_view::npos && line.find('(') > colon);
}

// "# mode: wall", "#!..." and lines of '#' alone. A thread's name may begin so, and has a stack behind it. "// ...", as speedscope
// and others allow.
inline bool is_comment(std::string_view line) {
  if (line.starts_with("//") && line.find(';') == std::string_view::npos) return true;
  if (!line.starts_with('#')) return false;
  const char next = line.size() > 1 ? line[1] : ' ';
  return next == ' ' || next == '#' || next == '!' || next == '\t' ||
         line.find(';') == std::string_view::npos;
}

inline std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

// Every whole line of `text` that is not empty: visit(line). What is behind the last line's end comes back.
template <class Visit>
std::string_view for_each_line(std::string_view text, Visit visit) {
  for (;;) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return text;
    visit(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

}  // namespace fathom::formats::folded_text
