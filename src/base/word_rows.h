// Tables that say one thing of many names: a row for each value, with its names as the words of one text. They read like the
// lists of a manual, and the compiler takes them apart.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace fathom {

template <class Value>
struct WordRow {
  Value value;
  std::string_view words;  // with blanks between them
};

// visit(word), in order.
template <class Visit>
constexpr void for_each_word(std::string_view words, Visit visit) {
  for (std::size_t start = 0; start < words.size();) {
    const std::size_t end = std::min(words.find(' ', start), words.size());
    if (end != start) visit(words.substr(start, end - start));
    start = end + 1;
  }
}

// The words of all rows of a table.
template <const auto& table>
constexpr std::size_t count_words() {
  std::size_t count = 0;
  for (const auto& row : table) for_each_word(row.words, [&](std::string_view) { ++count; });
  return count;
}

// Rows {word, value}, in the order of the table.
template <class Row, const auto& table>
constexpr auto each_word() {
  std::array<Row, count_words<table>()> rows{};
  std::size_t next = 0;
  for (const auto& row : table)
    for_each_word(row.words, [&](std::string_view word) { rows[next++] = {word, row.value}; });
  return rows;
}

}  // namespace fathom
