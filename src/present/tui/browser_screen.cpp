// The lines of a screen: title, views, the table or text of the one that is shown, and what the last line says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "analysis/core/words.h"
#include "present/code/annotation_text.h"
#include "present/keys/key_map.h"
#include "present/text/text_report.h"
#include "present/text/text_table.h"
#include "present/tui/browser.h"
#include "present/tui/view_kinds.h"

namespace fathom::tui {

using analysis::NodeKind;
using analysis::printable;

namespace {

// Columns: below this many a row has one number and a name; modules need more.
constexpr std::size_t kNarrow = 48, kRoomForModules = 72;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(printable(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  while (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
  return lines;
}

}  // namespace

std::string Browser::percent(std::int64_t value) const {
  return value == 0 ? "" : analysis::percent_number(analysis::share(tree_, value));
}

// Percents of a row, or what stands above them: a narrow screen has room for the one by which rows are ordered.
std::string Browser::percents(const std::string& total, const std::string& self, std::size_t width) const {
  if (width >= kNarrow) return fmt::format("{:>8}{:>8}  ", total, self);
  const bool by_total = views_.back().calls || sort_ == FlatSort::kTotal;
  return fmt::format("{:>5} ", by_total ? total : self);
}

bool Browser::has_module(std::size_t width) const {
  return by_ == FlatBy::kModule || (by_ != FlatBy::kThread && width >= kRoomForModules);
}

std::string Browser::marked(NodeKind kind) const {
  return kind == NodeKind::kKernel   ? "[k]"
         : kind == NodeKind::kCause  ? "[w]"
         : kind == NodeKind::kThread ? "   "
                                     : "[.]";
}

std::string Browser::title() const {
  std::string text = printable(profile_.meta.target) + ", " +
                     std::string(model::to_string(selection_.metric)) + ": " +
                     analysis::amount(static_cast<double>(tree_.total), tree_.unit);
  if (words_.thread) text += ", thread " + printable(*words_.thread);
  if (words_.from_s || words_.until_s)
    text += fmt::format(", {:g} s to {}", words_.from_s.value_or(0),
                        words_.until_s ? fmt::format("{:g} s", *words_.until_s) : "the end");
  for (const std::string& pattern : words_.focus) text += ", only with " + printable(pattern);
  for (const std::string& pattern : words_.ignore) text += ", without " + printable(pattern);
  for (const std::string& pattern : words_.cuts.hide) text += ", hiding " + printable(pattern);
  for (const std::string& pattern : words_.cuts.show_from) text += ", from " + printable(pattern);
  return text;
}

// Where there is no room for all names, the others are their keys.
std::vector<std::string> Browser::tabs(std::size_t width) const {
  std::vector<std::string> named, keys;
  std::size_t used = 0;
  for (std::size_t i = 0; i < kTabs.size(); ++i) {
    const bool here = kTabs[i].kind == views_.back().kind;
    const std::string name =
        fmt::format("{}{} {}{}", here ? "[" : " ", i + 1, kTabs[i].name, here ? "]" : " ");
    used += name.size();
    keys.push_back(here ? name : fmt::format(" {} ", i + 1));
    named.push_back(name);
  }
  return used <= width + 1 ? named : keys;
}

std::string Browser::head(const View& view, std::size_t width) const {
  constexpr std::array<std::string_view, 3> kSorted = {"self", "total", "name"};
  switch (view.kind) {
    case ViewKind::kFlat: {
      if (width < kNarrow)
        return percents("total", "self", width) + (by_ == FlatBy::kThread   ? "thread"
                                                   : by_ == FlatBy::kModule ? "module"
                                                                            : "symbol");
      std::string text = percents("total %", "self %", width);
      if (by_ == FlatBy::kThreadAndFunction || by_ == FlatBy::kThread)
        text += fmt::format("{:<16}  ", "thread");
      if (has_module(width)) text += fmt::format("{:<20}  ", "module");
      if (by_ == FlatBy::kFunction || by_ == FlatBy::kThreadAndFunction) text += "    symbol";
      return text + fmt::format("   (by {})", kSorted[static_cast<std::size_t>(sort_)]);
    }
    case ViewKind::kTree:
      return percents(width < kNarrow ? "total" : "total %", "self %", width) + "call tree";
    case ViewKind::kCallers:
    case ViewKind::kCallees:
      return fmt::format("{}{} {} ({} % of all)",
                         percents(width < kNarrow ? "total" : "total %", "self %", width),
                         view.kind == ViewKind::kCallers ? "who called" : "called by",
                         printable(view.function), percent(view.calls->root().total));
    case ViewKind::kThreads:
      return fmt::format("{:>8}{:>8}{:>9}  thread", "%", "tid", "samples");
    case ViewKind::kAnnotate:
      return "source and machine code of " + printable(view.function);
    default:
      return {};
  }
}

ScreenLine Browser::row_line(const View& view, std::size_t row, std::size_t width) const {
  const auto style_of = [&](std::int64_t self) {
    const double share = analysis::share(tree_, self);
    return share >= 0.05 ? Style::kHot : Style::kPlain;
  };
  const auto named = [&](std::string text, const std::string& name) {
    const std::size_t used = present::display_width(text);
    const std::size_t room = width > used + 8 ? width - used : 8;
    return text + present::shorten_name(printable(name), room);
  };
  switch (view.kind) {
    case ViewKind::kFlat: {
      const FlatRow& flat = view.flat[row];
      std::string text = percents(percent(flat.total), percent(flat.self), width);
      const auto column = [&](const std::string& name, std::size_t wide) {
        const std::string fitted = present::keep_tail(printable(name), wide);
        text += fitted + std::string(wide - std::min(wide, present::display_width(fitted)), ' ') + "  ";
      };
      if (by_ == FlatBy::kThreadAndFunction || by_ == FlatBy::kThread)
        column(tree_.names[flat.thread], width < kNarrow ? 8 : 16);
      if (has_module(width))
        column(tree_.modules[flat.module].name.empty() ? "-" : tree_.modules[flat.module].name, 20);
      if (by_ == FlatBy::kFunction || by_ == FlatBy::kThreadAndFunction)
        text = named(text + marked(flat.kind) + " ", tree_.names[flat.name]);
      return {text, style_of(flat.self)};
    }
    case ViewKind::kTree:
    case ViewKind::kCallers:
    case ViewKind::kCallees: {
      const CallList::Row& at = view.calls->rows()[row];
      const auto& node = view.calls->node(at.node);
      const std::size_t indent = std::min<std::size_t>(at.depth, std::max<std::size_t>(width / 4, 4));
      std::string text = fmt::format("{}{}{} {}", percents(percent(node.total), percent(node.self), width),
                                     std::string(indent, ' '),
                                     !view.calls->has_children(at.node) ? " "
                                     : view.calls->is_open(at.node)     ? "-"
                                                                        : "+",
                                     node.kind == NodeKind::kThread ? "" : marked(node.kind) + " ");
      if (indent < at.depth) text += fmt::format("({}) ", at.depth);
      return {named(text, (node.kind == NodeKind::kThread ? "thread " : "") + tree_.names[node.name]),
              style_of(node.self)};
    }
    case ViewKind::kThreads: {
      const analysis::ThreadRow& thread = report_->threads[view.threads[row]];
      return {fmt::format("{:>8}{:>8}{:>9}  {}", percent(thread.value), thread.tid, thread.samples,
                          printable(thread.name)),
              style_of(thread.value)};
    }
    default:
      return {view.lines[row], Style::kPlain};
  }
}

// Texts are filled to the width of the screen.
void Browser::wrap_lines(View& view, std::size_t width) {
  if (!is_text(view.kind) || view.lines_width == width) return;
  view.lines_width = width;
  present::TextOptions style;
  style.width = std::max<std::size_t>(width, 40);
  style.layout = view.kind == ViewKind::kAnswer ? present::Layout::kFirstScreen : present::Layout::kAsked;
  style.sections.add(analysis::Section::kWaits, view.kind == ViewKind::kWaits);
  style.sections.add(analysis::Section::kHeap, view.kind == ViewKind::kHeap);
  style.file = sources_.command_file.empty() ? "" : sources_.command_file.front();
  std::string text;
  if (view.kind == ViewKind::kHelp) {
    text = "Keys\n\n" + present::keys_help(present::Surface::kTui) +
           "\n  [.] code of the program and its libraries, [k] of the kernel, [w] what was waited for\n";
  } else if (view.kind == ViewKind::kAnnotate) {
    text = present::annotation_text(*view.annotation, style, true);
  } else if (const auto made = report()) {
    text = present::report_text(**made, style);
  }
  view.lines = lines_of(text);
}

// The keys that matter in a view; those of all views follow them.
static std::string hints_of(ViewKind kind) {
  const auto hints = [](std::string_view enter, std::initializer_list<std::string_view> names) {
    std::string text = fmt::format("Enter {}", enter);
    for (const std::string_view name : names)
      text += fmt::format("  {} {}", present::key_for(present::Surface::kTui, name), name);
    return text;
  };
  switch (kind) {
    case ViewKind::kFlat:
      return hints("callers",
                   {"callees", "code", "focus", "leave-out", "order", "group", "thread", "metric"});
    case ViewKind::kTree:
    case ViewKind::kCallers:
    case ViewKind::kCallees:
      return hints("open, close", {"open-all", "callers", "callees", "code", "focus", "leave-out", "thread"});
    case ViewKind::kThreads:
      return "Enter only this thread";
    default:
      return "1 to 9 views";
  }
}

std::string Browser::status_line() const {
  constexpr std::array<std::string_view, 8> kAsks = {"",
                                                     "search: ",
                                                     "only stacks with: ",
                                                     "no stacks with: ",
                                                     "hide calls of: ",
                                                     "stacks from: ",
                                                     "seconds FROM:UNTIL: ",
                                                     "thread (name or tid): "};
  if (prompt_ != Prompt::kNone) {
    const std::string asked = std::string(kAsks[static_cast<std::size_t>(prompt_)]) + printable(typed_) + "_";
    return typed_.empty() && !suggested_.empty() ? asked + "  (Enter: " + printable(suggested_) + ")" : asked;
  }
  if (!status_.empty()) return status_;
  const View& view = views_.back();
  const std::size_t rows = row_count(view);
  std::string text = fmt::format("{}/{}  {}", rows == 0 ? 0 : view.cursor + 1, rows, hints_of(view.kind));
  for (const std::string_view name : {"search", "time", "copy", "help", "quit"})
    text += fmt::format("  {} {}", present::key_for(present::Surface::kTui, name), name);
  return text;
}

std::vector<ScreenLine> Browser::draw(std::size_t width, std::size_t height) {
  View& view = views_.back();
  wrap_lines(view, width);
  const std::size_t rows = row_count(view);
  view.cursor = rows == 0 ? 0 : std::min(view.cursor, rows - 1);
  std::vector<ScreenLine> lines;
  if (height >= 6) {
    lines.push_back({title(), Style::kTitle});
    lines.push_back({fmt::format("{}", fmt::join(tabs(width), "")), Style::kFaint});
  }
  has_tabs_ = height >= 6;
  width_ = width;
  if (height >= 4) lines.push_back({head(view, width), Style::kHead});
  first_row_ = lines.size();
  const std::size_t room = height > lines.size() + 1 ? height - lines.size() - 1 : height == 0 ? 0 : 1;
  page_ = std::max<std::size_t>(room, 2) - 1;
  view.top = std::min(view.top, view.cursor);
  if (room != 0 && view.cursor >= view.top + room) view.top = view.cursor - room + 1;
  if (rows > room && view.top + room > rows) view.top = rows - room;
  for (std::size_t i = 0; i < room; ++i) {
    const std::size_t row = view.top + i;
    if (row >= rows) {
      lines.push_back({rows == 0 && i == 0 ? "  (nothing)" : "", Style::kFaint});
      continue;
    }
    ScreenLine line = row_line(view, row, width);
    if (row == view.cursor) line.style = Style::kCursor;
    lines.push_back(std::move(line));
  }
  if (lines.size() < height) lines.push_back({status_line(), Style::kStatus});
  lines.resize(std::min(lines.size(), height));
  for (ScreenLine& line : lines) line.text = cut(line.text, width);
  return lines;
}

}  // namespace fathom::tui
