// Takes values out of one message of the kernel: "limit 524288kB", "process 28438 (java)". All numbers saturate.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/parse.h"

namespace fathom::oom {

inline std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

inline std::string_view after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

inline std::string_view leading_digits(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && text[size] >= '0' && text[size] <= '9') ++size;
  return text.substr(0, size);
}

inline std::optional<std::uint64_t> number_after(std::string_view text, std::string_view mark) {
  return parse_number(leading_digits(after(text, mark)));
}

inline std::optional<int> signed_after(std::string_view text, std::string_view mark) {
  std::string_view rest = after(text, mark);
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const auto value = parse_number<int>(leading_digits(rest));
  return value ? std::optional(negative ? -*value : *value) : std::nullopt;
}

// A number with "kB" behind it, in bytes.
inline std::optional<std::uint64_t> kilobytes_after(std::string_view text, std::string_view mark) {
  const std::string_view rest = after(text, mark);
  const std::string_view digits = leading_digits(rest);
  const auto value = parse_number(digits);
  if (!value || !rest.substr(digits.size()).starts_with("kB")) return std::nullopt;
  return times(*value, 1024);
}

// What stands between two marks; to the end where the second is missing is nothing.
inline std::string_view between(std::string_view text, std::string_view mark, std::string_view end) {
  const std::string_view rest = after(text, mark);
  const std::size_t stop = rest.find(end);
  return stop == std::string_view::npos ? std::string_view() : rest.substr(0, stop);
}

// "process 12 (a (b)) total-vm": names may hold brackets, and nothing after them does.
inline std::optional<std::string> name_in_brackets(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  return std::string(text.substr(open + 1, close - open - 1));
}

// "gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0" -> "GFP_HIGHUSER_MOVABLE|__GFP_COMP"; of older kernels
// the number.
inline std::string request_in(std::string_view text) {
  const std::string_view mask = between(text, "gfp_mask=", ", order=");
  const std::size_t open = mask.find('(');
  if (open == std::string_view::npos || !mask.ends_with(')')) return std::string(mask);
  return std::string(mask.substr(open + 1, mask.size() - open - 2));
}

}  // namespace fathom::oom
