// Keys: those of a view, those of a question in the last line, and search.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/core/name_pattern.h"
#include "analysis/core/words.h"
#include "base/text.h"
#include "present/keys/key_map.h"
#include "present/tui/browser.h"
#include "present/tui/view_kinds.h"

namespace fathom::tui {
namespace {

using analysis::printable;

}  // namespace

void Browser::press(const Key& key) {
  if (key.kind == KeyKind::kInterrupt) {
    done_ = true;
    return;
  }
  if (prompt_ != Prompt::kNone) return press_prompt(key);
  status_.clear();
  constexpr std::size_t kWheel = 3;
  View& view = views_.back();
  const std::size_t rows = row_count(view);
  switch (key.kind) {
    case KeyKind::kUp:
      return move_to(view.cursor == 0 ? 0 : view.cursor - 1);
    case KeyKind::kDown:
      return move_to(view.cursor + 1);
    case KeyKind::kPageUp:
      return move_to(view.cursor - std::min(view.cursor, page_));
    case KeyKind::kPageDown:
      return move_to(view.cursor + page_);
    case KeyKind::kHome:
      return move_to(0);
    case KeyKind::kEnd:
      return move_to(rows);
    case KeyKind::kLeft:
      return open_here(false);
    case KeyKind::kRight:
      return open_here(true);
    case KeyKind::kEnter:
      return enter();
    case KeyKind::kTab:
      return next_tab(1);
    case KeyKind::kBackTab:
      return next_tab(-1);
    case KeyKind::kEscape:
    case KeyKind::kBackspace:
      if (views_.size() > 1) return back();
      status_ = "q leaves";
      return;
    case KeyKind::kText:
      return press_text(key.text);
    case KeyKind::kClick:
      return click(key);
    case KeyKind::kWheelUp:
      return move_to(view.cursor - std::min(view.cursor, kWheel));
    case KeyKind::kWheelDown:
      return move_to(view.cursor + kWheel);
    case KeyKind::kInterrupt:
    case KeyKind::kRedraw:
      return;
  }
}

// A row under the cursor is entered; another one gets the cursor. A tab is its view.
void Browser::click(const Key& key) {
  if (has_tabs_ && key.row == 1) {
    std::size_t end = 0;
    const std::vector<std::string> shown = tabs(width_);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      end += shown[i].size();
      if (key.column < end) return show_tab(i);
    }
    return;
  }
  View& view = views_.back();
  if (key.row < first_row_) return;
  const std::size_t row = view.top + key.row - first_row_;
  if (row >= row_count(view)) return;
  if (row == view.cursor) return enter();
  move_to(row);
}

// What the page does with the selected function, Enter does with that at the cursor, unless a pattern is in force: then it drops it.
void Browser::ask_for(Prompt prompt) {
  prompt_ = prompt;
  suggested_.clear();
  const bool in_force = prompt == Prompt::kFocus    ? !words_.focus.empty()
                        : prompt == Prompt::kIgnore ? !words_.ignore.empty()
                        : prompt == Prompt::kHide   ? !words_.cuts.hide.empty()
                                                    : !words_.cuts.show_from.empty();
  if (!in_force) suggested_ = function_here().value_or("");
}

std::span<const Browser::Action> Browser::actions() {
  static constexpr auto kAsk = [](Browser& browser, Prompt prompt) {
    browser.ask_for(prompt);
    browser.typed_.clear();
  };
  static constexpr std::array kActions = {
      Action{"help", [](Browser& browser) { browser.show(ViewKind::kHelp); }},
      Action{"search",
             [](Browser& browser) {
               browser.prompt_ = Prompt::kSearch;
               browser.search_origin_ = browser.views_.back().cursor;
               browser.typed_.clear();
             }},
      Action{"next", [](Browser& browser) { browser.search(browser.searched_, true, false); }},
      Action{"previous", [](Browser& browser) { browser.search(browser.searched_, false, false); }},
      Action{"focus", [](Browser& browser) { kAsk(browser, Prompt::kFocus); }},
      Action{"leave-out", [](Browser& browser) { kAsk(browser, Prompt::kIgnore); }},
      Action{"hide", [](Browser& browser) { kAsk(browser, Prompt::kHide); }},
      Action{"show-from", [](Browser& browser) { kAsk(browser, Prompt::kShowFrom); }},
      Action{"callers", [](Browser& browser) { browser.show_of_function(ViewKind::kCallers); }},
      Action{"callees", [](Browser& browser) { browser.show_of_function(ViewKind::kCallees); }},
      Action{"code", [](Browser& browser) { browser.show_of_function(ViewKind::kAnnotate); }},
      Action{"clear",
             [](Browser& browser) {
               Words words;
               words.metric = browser.words_.metric;
               browser.change(words);
             }},
      Action{"metric", [](Browser& browser) { browser.next_metric(); }},
      Action{"thread", [](Browser& browser) { browser.toggle_thread(); }},
      Action{"time",
             [](Browser& browser) {
               browser.prompt_ = Prompt::kTime;
               browser.typed_.clear();
             }},
      Action{"earlier", [](Browser& browser) { browser.move_time(-1); }},
      Action{"later", [](Browser& browser) { browser.move_time(1); }},
      Action{"order", [](Browser& browser) { browser.order_rows(); }},
      Action{"group", [](Browser& browser) { browser.group_rows(); }},
      Action{"open",
             [](Browser& browser) {
               const View& view = browser.views_.back();
               browser.open_here(!(view.calls && view.cursor < view.calls->rows().size() &&
                                   view.calls->is_open(view.calls->rows()[view.cursor].node)));
             }},
      Action{"open-all",
             [](Browser& browser) {
               if (View& view = browser.views_.back(); view.calls) view.calls->open_all();
             }},
      Action{"close-all",
             [](Browser& browser) {
               if (View& view = browser.views_.back(); view.calls) view.calls->close_all();
               browser.move_to(0);
             }},
      Action{"copy",
             [](Browser& browser) {
               browser.copied_ = browser.last_copied_ = browser.command();
               browser.status_ = "copied: " + printable(*browser.copied_);
             }},
      Action{"quit", [](Browser& browser) { browser.back(); }},
  };
  return kActions;
}

void Browser::show_tab(std::size_t tab) {
  if (tab >= kTabs.size()) return;
  const ViewKind kind = kTabs[tab].kind;
  needs_function(kind) ? show_of_function(kind) : show(kind);
}

void Browser::show_of_function(ViewKind kind) {
  const auto function = function_here();
  if (function)
    show(kind, *function);
  else
    status_ = "put the cursor on a function first";
}

void Browser::order_rows() {
  if (views_.back().kind != ViewKind::kFlat) {
    status_ = "only the flat view has an order (key 2)";
    return;
  }
  sort_ = sort_ == FlatSort::kSelf    ? FlatSort::kTotal
          : sort_ == FlatSort::kTotal ? FlatSort::kName
                                      : FlatSort::kSelf;
  (void)fill(views_.back());
  move_to(0);
}

void Browser::group_rows() {
  if (views_.back().kind != ViewKind::kFlat) {
    status_ = "only the flat view has groups (key 2)";
    return;
  }
  by_ = static_cast<FlatBy>((static_cast<int>(by_) + 1) % 4);
  (void)fill(views_.back());
  move_to(0);
}

void Browser::press_text(const std::string& text) {
  if (text == " ") return move_to(views_.back().cursor + page_);
  const std::string_view name = present::action_of(present::Surface::kTui, text);
  if (name == "view") return show_tab(text == "0" ? kTabs.size() : static_cast<std::size_t>(text[0] - '1'));
  for (const Action& action : actions())
    if (action.name == name) return action.does(*this);
  status_ = "? shows the keys";
}

void Browser::press_prompt(const Key& key) {
  switch (key.kind) {
    case KeyKind::kText:
      if (typed_.size() < 1000) typed_ += key.text;
      return search_as_typed();
    case KeyKind::kBackspace:
      if (typed_.empty()) {
        prompt_ = Prompt::kNone;
        return;
      }
      while (!typed_.empty() && (static_cast<unsigned char>(typed_.back()) & 0xc0) == 0x80) typed_.pop_back();
      if (!typed_.empty()) typed_.pop_back();
      return search_as_typed();
    case KeyKind::kEscape:
      if (prompt_ == Prompt::kSearch) move_to(search_origin_);
      prompt_ = Prompt::kNone;
      suggested_.clear();
      return;
    case KeyKind::kEnter:
      return accept(std::exchange(typed_, {}));
    default:
      return;
  }
}

// In a list the cursor follows each letter. Among calls Enter searches: a match opens the calls above it, and the letters on the way
// would open many.
void Browser::search_as_typed() {
  View& view = views_.back();
  if (prompt_ != Prompt::kSearch || view.calls) return;
  move_to(search_origin_);
  if (!typed_.empty()) search(typed_, true, true);
}

void Browser::accept(const std::string& entered) {
  const Prompt prompt = std::exchange(prompt_, Prompt::kNone);
  const std::string suggested = std::exchange(suggested_, {}), text = entered.empty() ? suggested : entered;
  status_.clear();
  Words words = words_;
  switch (prompt) {
    case Prompt::kNone:
      return;
    case Prompt::kSearch:
      if (!text.empty()) searched_ = text;
      return search(searched_, true, true);
    case Prompt::kFocus:
    case Prompt::kIgnore:
    case Prompt::kHide:
    case Prompt::kShowFrom: {
      auto& list = prompt == Prompt::kFocus    ? words.focus
                   : prompt == Prompt::kIgnore ? words.ignore
                   : prompt == Prompt::kHide   ? words.cuts.hide
                                               : words.cuts.show_from;
      list.clear();
      if (!text.empty()) list.push_back(text);
      return change(words);
    }
    case Prompt::kTime:
      return set_time(text);
    case Prompt::kThread:
      words.thread = text.empty() ? std::nullopt : std::optional(text);
      return change(words);
  }
}

void Browser::enter() {
  View& view = views_.back();
  if (view.calls)
    return open_here(view.cursor < view.calls->rows().size() &&
                     !view.calls->is_open(view.calls->rows()[view.cursor].node));
  if (view.kind == ViewKind::kThreads) return toggle_thread();
  if (view.kind != ViewKind::kFlat) return move_to(view.cursor + 1);
  const auto function = function_here();
  if (function) return show(ViewKind::kCallers, *function);
  if (by_ == FlatBy::kThread) return toggle_thread();
}

void Browser::open_here(bool open) {
  View& view = views_.back();
  if (!view.calls || view.cursor >= view.calls->rows().size()) return;
  const CallList::Row row = view.calls->rows()[view.cursor];
  if (open) return view.calls->open(view.cursor);
  if (view.calls->is_open(row.node)) return view.calls->close(view.cursor);
  // Nothing to close here: up to who called.
  for (std::size_t i = view.cursor; i-- > 0;)
    if (view.calls->rows()[i].depth < row.depth) return move_to(i);
}

void Browser::move_to(std::size_t row) {
  View& view = views_.back();
  const std::size_t rows = row_count(view);
  view.cursor = rows == 0 ? 0 : std::min(row, rows - 1);
}

void Browser::search(const std::string& text, bool forward, bool from_here) {
  if (text.empty()) {
    status_ = "/ searches";
    return;
  }
  const Result<analysis::NamePattern> pattern = analysis::NamePattern::parse(text);
  if (!pattern) {
    status_ = printable(pattern.error().message);
    return;
  }
  View& view = views_.back();
  const std::string plain = lower_case(text);
  const auto matches = [&](const std::string& name) {
    return pattern->is_expression() ? pattern->matches(name)
                                    : lower_case(name).find(plain) != std::string::npos;
  };
  if (view.calls) {  // also what is not opened
    const auto row = view.calls->find(view.cursor, forward, from_here,
                                      [&](const auto& node) { return matches(tree_.names[node.name]); });
    if (row) return move_to(*row);
  }
  const std::size_t rows = view.calls ? 0 : row_count(view);
  for (std::size_t i = from_here ? 0 : 1; i < rows + (from_here ? 0 : 1) && rows != 0; ++i) {
    const std::size_t row = (view.cursor + (forward ? i : rows - i % rows)) % rows;
    if (!matches(row_name(view, row))) continue;
    view.cursor = row;
    return;
  }
  status_ = fmt::format("'{}' is not found here", printable(text));
}

}  // namespace fathom::tui
