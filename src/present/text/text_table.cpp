#include "present/text/text_table.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "analysis/core/fold_generics.h"
#include "analysis/core/prose_name.h"
#include "present/text/character_width.h"
#include "present/text/terminal_style.h"

namespace fathom::present {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::size_t kLeastName = 14;
constexpr std::string_view kGap = "  ";

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// "f(std::vector<int> const&) const" -> "f(...)": the arguments of the last call brackets outside of angle
// brackets.
std::string without_arguments(const std::string& name) {
  std::size_t end = name.size();
  for (const std::string_view suffix : {" const", " &", " &&", " [clone .cold]", " noexcept"}) {
    if (std::string_view(name).substr(0, end).ends_with(suffix)) end -= suffix.size();
  }
  if (end < 3 || name[end - 1] != ')') return name;
  int depth = 0;
  for (std::size_t i = end; i-- > 1;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      if (i + 2 == end || name[i - 1] == ':' || name[i - 1] == ' ')
        return name;  // "f()", "a::(anonymous namespace)"
      return name.substr(0, i) + "(" + std::string(kEllipsis) + ")";
    }
  }
  return name;
}

// "<a::b::Node<..> as c::Visit>::walk" -> "<Node<..> as Visit>::walk".
std::string with_bare_bracket(const std::string& name) {
  if (name.empty() || name[0] != '<') return name;
  std::string bare;
  std::size_t word = 0;  // where the present path part starts in `bare`
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && --depth == 0) return bare + name.substr(i);
    if (name[i] == ':' && i + 1 < name.size() && name[i + 1] == ':' && bare.size() > word) {
      bare.resize(word);
      ++i;
      continue;
    }
    bare += name[i];
    const bool in_word = name[i] == '_' || std::isalnum(static_cast<unsigned char>(name[i])) != 0;
    if (!in_word) word = bare.size();
  }
  return name;
}

// The starts of the path's parts: behind every "::" that stands in no bracket.
std::vector<std::size_t> part_starts(const std::string& name) {
  std::vector<std::size_t> starts;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(' || name[i] == '[' || name[i] == '{') ++depth;
    if (name[i] == '>' || name[i] == ')' || name[i] == ']' || name[i] == '}') --depth;
    if (depth == 0 && name[i] == ':' && name[i + 1] == ':') starts.push_back(i + 2);
  }
  return starts;
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t has = display_width(text);
  const std::string padding(has < width ? width - has : 0, ' ');
  return align == Align::kLeft ? text + padding : padding + text;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    if (const std::size_t style = style_length(text); style != 0) {
      text.remove_prefix(style);
      continue;
    }
    const Character character = first_character(text);
    width += character.columns;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string keep_tail(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  if (width == 0) return {};
  std::size_t at = text.size();
  while (at > 0) {
    std::size_t before = at - 1;
    while (before > 0 && !starts_character(text[before])) --before;
    if (display_width(std::string_view(text).substr(before)) > width - 1) break;
    at = before;
  }
  return std::string(kEllipsis) + text.substr(at);
}

std::string keep_both_ends(const std::string& text, std::size_t width) {
  if (width < 8 || display_width(text) <= width) return keep_tail(text, width);
  const std::size_t tail = (width - 1) / 3;
  std::size_t head = width - 1 - tail;
  while (head > 0 && (display_width(std::string_view(text).substr(0, head)) > width - 1 - tail ||
                      !starts_character(text[head])))
    --head;
  const std::string end = keep_tail(text, tail + 1);  // with an ellipsis of its own
  return text.substr(0, head) + end;
}

std::string shorten_name(const std::string& name, std::size_t width) {
  if (display_width(name) <= width) return name;
  // Inlined names follow the name; if there is no room for both the name stays.
  constexpr std::string_view kInlined = " (inlined)";
  if (name.ends_with(kInlined)) {
    const std::string bare = name.substr(0, name.size() - kInlined.size());
    constexpr std::size_t kRoomy = 24;
    return width >= kRoomy ? shorten_name(bare, width - kInlined.size()) + std::string(kInlined)
                           : shorten_name(bare, width);
  }
  // In the name of a wait that a function ended (analysis/waits/wait_site.h) the function may be
  // shortened.
  for (const auto& [start, end] :
       {std::pair<std::string_view, std::string_view>{"(woken by ", ")"}, {"woken by ", ""}}) {
    if (!name.starts_with(start) || !name.ends_with(end) || name.size() <= start.size() + end.size())
      continue;
    constexpr std::size_t kLeast = 8;
    const std::string function = name.substr(start.size(), name.size() - start.size() - end.size());
    const std::size_t words = start.size() + end.size();
    if (width < words + kLeast) return shorten_name(function, width);
    return std::string(start) + shorten_name(function, width - words) + std::string(end);
  }
  if (analysis::is_dotted_name(name)) {
    const std::size_t slash = name.substr(0, name.find_first_of(" (")).rfind('/');
    const std::string tail = slash == name.npos ? name : std::string(kEllipsis) + name.substr(slash);
    return display_width(tail) <= width ? tail : keep_both_ends(name, width);
  }
  std::string shorter = without_arguments(name);
  if (display_width(shorter) <= width) return shorter;
  shorter = analysis::fold_generics(shorter);
  if (display_width(shorter) <= width) return shorter;
  shorter = with_bare_bracket(shorter);
  if (display_width(shorter) <= width) return shorter;
  // "f::{{closure}}" without f names nothing, and "operator()" nothing without whose it is.
  const std::vector<std::size_t> starts = part_starts(shorter);
  std::string last = shorter, tail;
  for (const std::size_t start : starts) {
    if (shorter.compare(start, 1, "{") == 0 || shorter.compare(start, 10, "operator()") == 0) continue;
    last = shorter.substr(start);
    if (tail.empty() && display_width(last) + 3 <= width) tail = std::string(kEllipsis) + "::" + last;
  }
  // The last part alone says less than the short name, which has what it belongs to, where there is room for that. What is left
  // out of that is marked, so that the text finds its function again.
  if (!starts.empty() && (tail.empty() || tail.size() == last.size() + kEllipsis.size() + 2)) {
    std::string prose = analysis::prose_name(name);
    if (display_width(prose) <= width) return prose;
    for (std::size_t at; tail.empty() && (at = prose.find("::")) != prose.npos &&
                         prose.compare(at + 2, 1, "{") != 0 &&
                         prose.compare(at + 2, 10, "operator()") != 0;) {
      prose.erase(0, at + 2);
      if (display_width(prose) + 1 <= width) return std::string(kEllipsis) + prose;
    }
  }
  if (!tail.empty()) return tail;
  // A closure is identified by its function.
  constexpr std::string_view kClosure = "::{{closure}}";
  bool closure = false;
  for (; last.ends_with(kClosure); closure = true) last.resize(last.size() - kClosure.size());
  if (closure) {
    const std::string mark = "::{…}";
    return display_width(last) + display_width(mark) <= width ? last + mark : keep_both_ends(last, width);
  }
  if (last.ends_with("(…)")) last.resize(last.size() - std::string_view("(…)").size());
  if (display_width(last) <= width && last.size() != shorter.size()) return keep_tail(shorter, width);
  return keep_both_ends(last, width);
}

void TextTable::add(std::vector<std::string> cells, bool faint) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), faint});
}

std::string TextTable::text(std::size_t width, bool color) const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t widest = display_width(columns_[column].head);
    for (const Row& row : rows_) widest = std::max(widest, display_width(row.cells[column]));
    widths.push_back(widest);
  }
  // The widest name gives way first, until it is no wider than the next.
  const auto too_wide = [&] {
    std::size_t all = kGap.size() * columns_.size();
    for (const std::size_t each : widths) all += each;
    return width != 0 && all > width ? all - width : 0;
  };
  while (const std::size_t excess = too_wide()) {
    std::size_t widest = columns_.size(), next = kLeastName;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (!columns_[column].is_name) continue;
      if (widest == columns_.size() || widths[column] > widths[widest]) {
        if (widest != columns_.size()) next = std::max(next, widths[widest]);
        widest = column;
      } else {
        next = std::max(next, widths[column]);
      }
    }
    if (widest == columns_.size() || widths[widest] <= kLeastName) break;
    const std::size_t step = widths[widest] > next ? widths[widest] - next : 1;
    widths[widest] -= std::min(step, excess);
  }
  // Of names that stay whole a few are very long: these push what follows aside, and no other line.
  constexpr std::size_t kWidestPadding = 100;
  if (width == 0)
    for (std::size_t column = 0; column < columns_.size(); ++column)
      if (columns_[column].is_name) widths[column] = std::min(widths[column], kWidestPadding);
  const auto line = [&](const auto& cell_of, bool faint) {
    std::string text;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      std::string cell = cell_of(column);
      if (columns_[column].is_name && width != 0) cell = shorten_name(cell, widths[column]);
      text += kGap;
      text += padded(cell, widths[column], columns_[column].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    if (faint && color) text = "\x1b[2m" + text + "\x1b[0m";
    return text + "\n";
  };
  std::string out;
  const bool has_head =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.head.empty(); });
  if (has_head) out += line([&](std::size_t column) { return columns_[column].head; }, true);
  for (const Row& row : rows_) out += line([&](std::size_t column) { return row.cells[column]; }, row.faint);
  return out;
}

std::string fill(std::string_view start, std::string_view text, std::size_t width, std::size_t indent) {
  std::string out(start);
  std::size_t used = display_width(start);
  bool fresh = true;  // no word on this line yet
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0 && text.substr(end).starts_with(" %"))  // stays with its number
      end = std::min(text.find(' ', end + 1), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (word.empty()) continue;
    const std::size_t size = display_width(word);
    if (!fresh && width != 0 && used + 1 + size > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
      fresh = true;
    }
    if (!fresh) {
      out += ' ';
      ++used;
    }
    out += word;
    used += size;
    fresh = false;
  }
  return out + "\n";
}

}  // namespace fathom::present
