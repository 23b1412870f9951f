// Tables for a terminal of a given width: numbers to the right, columns of names that take what is left.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::present {

// Columns that a text takes in a terminal: two for wide characters, none for combining marks and for style
// (terminal_style.h), one for each byte of what is no UTF-8.
std::size_t display_width(std::string_view text);

// At most `width` columns, keeping what distinguishes functions: first the arguments go ("parse(...)"), then
// generic arguments ("Vec<..>"), then paths in a Rust bracket ("<Node as Visit>::walk"), then leading parts
// of the path ("...::push").
std::string shorten_name(const std::string& name, std::size_t width);
// At most `width` columns; the end is what is kept of a longer text.
std::string keep_tail(const std::string& text, std::size_t width);
// At most `width` columns: of a longer text the start and the end.
std::string keep_both_ends(const std::string& text, std::size_t width);

enum class Align { kLeft, kRight };

class TextTable {
 public:
  struct Column {
    std::string head;
    Align align = Align::kLeft;
    bool is_name = false;  // shortened with shorten_name to what the others leave
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // One text per column. `faint`: of little weight, drawn so where colours are on.
  void add(std::vector<std::string> cells, bool faint = false);
  bool empty() const { return rows_.empty(); }
  // Lines with "\n"; no trailing spaces. `width` 0: names are never shortened.
  std::string text(std::size_t width, bool color) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool faint;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// `start`, then the words of `text` filled into lines of `width` (0: one line); lines after the first are
// indented.
std::string fill(std::string_view start, std::string_view text, std::size_t width, std::size_t indent);

}  // namespace fathom::present
