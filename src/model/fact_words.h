// Words and numbers of a fact's text. Facts come from files, so what does not parse is nullopt.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace fathom::model {

// The whole of `text` as a number.
template <class Number>
std::optional<Number> number_of_fact(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes the first word, and the blank behind it, off `text`.
inline std::string_view next_word_of_fact(std::string_view& text) {
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

}  // namespace fathom::model
