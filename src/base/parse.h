// Reading text piece by piece: numbers, and parts between separators.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom {

// The whole of `text` as a number, in decimal or to another base: no blanks, no "+", no "0x". A minus sign is a number's only if the
// type has one. Those with a fraction are decimal, and may be "inf" and "nan".
template <class T = std::uint64_t>
std::optional<T> parse_number(std::string_view text, [[maybe_unused]] int base = 10) {
  T value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::floating_point<T>)
    read = std::from_chars(text.data(), end, value);
  else
    read = std::from_chars(text.data(), end, value, base);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

// The text up to the next separator, or all of it; it is taken off, and so is the separator.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
  return part;
}

}  // namespace fathom
