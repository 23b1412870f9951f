#include "tui/browser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "analysis/core/functions.h"
#include "analysis/core/name_pattern.h"
#include "analysis/core/words.h"
#include "present/code/annotation_text.h"
#include "present/text/text_report.h"
#include "present/text/text_table.h"
#include "tui/help.h"
#include "tui/shell_words.h"

namespace fathom::tui {
namespace {

using analysis::NodeKind;
using analysis::printable;

struct Tab {
  ViewKind kind;
  std::string_view name;
};
constexpr std::array<Tab, 9> kTabs = {{{ViewKind::kFlat, "flat"},
                                       {ViewKind::kTree, "tree"},
                                       {ViewKind::kCallers, "callers"},
                                       {ViewKind::kCallees, "callees"},
                                       {ViewKind::kAnnotate, "annotate"},
                                       {ViewKind::kThreads, "threads"},
                                       {ViewKind::kWaits, "waits"},
                                       {ViewKind::kHeap, "heap"},
                                       {ViewKind::kAnswer, "answer"}}};

bool needs_function(ViewKind kind) {
  return kind == ViewKind::kCallers || kind == ViewKind::kCallees || kind == ViewKind::kAnnotate;
}

bool is_text(ViewKind kind) {
  return kind == ViewKind::kAnnotate || kind == ViewKind::kWaits || kind == ViewKind::kHeap ||
         kind == ViewKind::kAnswer || kind == ViewKind::kHelp;
}

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

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1e9)
    return std::nullopt;
  return value;
}

}  // namespace

std::string cut(const std::string& text, std::size_t width) {
  if (present::display_width(text) <= width) return text;
  std::size_t used = 0, at = 0;
  while (at < text.size()) {
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    const std::size_t wide = present::display_width(std::string_view(text).substr(at, end - at));
    if (used + wide > width) break;
    used += wide;
    at = end;
  }
  return text.substr(0, at);
}

Result<std::unique_ptr<Browser>> Browser::open(const model::Profile& profile, const Words& words,
                                               Sources sources) {
  std::unique_ptr<Browser> browser(new Browser(profile, std::move(sources)));
  if (const Result<> loaded = browser->load(words); !loaded) return tl::unexpected(loaded.error());
  browser->show(ViewKind::kFlat);
  return browser;
}

Result<> Browser::load(const Words& words) {
  Result<analysis::Selection> selection = sources_.select(words);
  if (!selection) return tl::unexpected(selection.error());
  selection->fold_idle = true;
  analysis::TreeOptions options;
  options.selection = *selection;
  analysis::CallTree tree = analysis::build_call_tree(profile_, options);
  if (tree.total == 0 && tree.nodes.size() <= 1 && !views_.empty())
    return fail(ErrorKind::kNotFound, "nothing is left by this selection");
  selection_ = std::move(*selection);
  tree_ = std::move(tree);
  words_ = words;
  report_.reset();
  return {};
}

Result<const analysis::Report*> Browser::report() {
  if (!report_) {
    analysis::ReportOptions options;
    options.selection = selection_;
    Result<analysis::Report> made = analysis::make_report(profile_, options);
    if (!made) return tl::unexpected(made.error());
    report_ = std::move(*made);
  }
  return &*report_;
}

Result<> Browser::fill(View& view) {
  view.lines.clear();
  view.lines_width = 0;
  switch (view.kind) {
    case ViewKind::kFlat:
      view.flat = flat_rows(tree_, by_, sort_);
      return {};
    case ViewKind::kTree:
      view.calls.emplace(analysis::MergedCalls::of(tree_, false));
      return {};
    case ViewKind::kCallers:
    case ViewKind::kCallees: {
      const Result<std::vector<char>> names = analysis::matching_names(tree_, view.function);
      if (!names) return tl::unexpected(names.error());
      view.calls.emplace(view.kind == ViewKind::kCallers
                             ? analysis::MergedCalls::callers(tree_, *names, false)
                             : analysis::MergedCalls::callees(tree_, *names, false));
      return {};
    }
    case ViewKind::kAnnotate: {
      Result<annotate::Annotation> annotation = sources_.annotate(selection_, view.function);
      if (!annotation) return tl::unexpected(annotation.error());
      view.annotation = std::move(*annotation);
      return {};
    }
    case ViewKind::kThreads: {
      const auto made = report();
      if (!made) return tl::unexpected(made.error());
      view.threads.clear();
      for (std::size_t i = 0; i < (*made)->threads.size(); ++i) view.threads.push_back(i);
      return {};
    }
    case ViewKind::kWaits:
    case ViewKind::kHeap: {
      const auto made = report();
      if (!made) return tl::unexpected(made.error());
      if (view.kind == ViewKind::kWaits && !(*made)->waits)
        return fail(ErrorKind::kNotFound, "waiting was not recorded: fathom record --off-cpu");
      if (view.kind == ViewKind::kHeap && !(*made)->heap)
        return fail(ErrorKind::kNotFound, "the heap was not recorded: fathom record --heap");
      return {};
    }
    case ViewKind::kAnswer: {
      const auto made = report();
      if (!made) return tl::unexpected(made.error());
      return {};
    }
    case ViewKind::kHelp:
      return {};
  }
  return {};
}

void Browser::show(ViewKind kind, const std::string& function) {
  View view;
  view.kind = kind;
  view.function = function;
  if (const Result<> filled = fill(view); !filled) {
    status_ = printable(filled.error().message);
    return;
  }
  // The same view again takes the place of the one that is shown.
  if (!views_.empty() && views_.back().kind == kind && views_.size() > 1) views_.pop_back();
  if (!views_.empty() && kind == ViewKind::kFlat) views_.clear();
  views_.push_back(std::move(view));
}

// Views that the new selection leaves nothing of are closed.
void Browser::change(const Words& words) {
  const Words before = words_;
  if (const Result<> loaded = load(words); !loaded) {
    status_ = printable(loaded.error().message);
    return;
  }
  std::vector<View> kept;
  for (View& view : views_) {
    const Result<> filled = fill(view);
    if (!filled && !kept.empty()) {
      status_ = printable(filled.error().message);
      break;
    }
    kept.push_back(std::move(view));
  }
  views_ = std::move(kept);
  views_.back().cursor =
      std::min(views_.back().cursor, std::max<std::size_t>(row_count(views_.back()), 1) - 1);
}

void Browser::back() {
  if (views_.size() > 1)
    views_.pop_back();
  else
    done_ = true;
}

std::optional<std::string> Browser::take_copied() {
  return std::exchange(copied_, std::nullopt);
}

void Browser::press(const Key& key) {
  if (key.kind == KeyKind::kInterrupt) {
    done_ = true;
    return;
  }
  if (prompt_ != Prompt::kNone) return press_prompt(key);
  status_.clear();
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
    case KeyKind::kInterrupt:
    case KeyKind::kRedraw:
      return;
  }
}

void Browser::press_text(const std::string& text) {
  if (text.size() != 1) return;
  const char c = text.front();
  if (c >= '1' && c <= '9') {
    const ViewKind kind = kTabs[static_cast<std::size_t>(c - '1')].kind;
    if (!needs_function(kind)) return show(kind);
    const auto function = function_here();
    if (function) return show(kind, *function);
    status_ = "put the cursor on a function first";
    return;
  }
  View& view = views_.back();
  const auto of_function = [&](ViewKind kind) {
    const auto function = function_here();
    if (function)
      show(kind, *function);
    else
      status_ = "put the cursor on a function first";
  };
  Words words = words_;
  switch (c) {
    case 'q':
      return back();
    case 'h':
    case '?':
      return show(ViewKind::kHelp);
    case ' ':
      return move_to(view.cursor + page_);
    case 'a':
      return of_function(ViewKind::kAnnotate);
    case '<':
      return of_function(ViewKind::kCallers);
    case '>':
      return of_function(ViewKind::kCallees);
    case '+':
      return open_here(!(view.calls && view.cursor < view.calls->rows().size() &&
                         view.calls->is_open(view.calls->rows()[view.cursor].node)));
    case 'e':
      return open_here(true);
    case 'c':
      return open_here(false);
    case 'E':
      if (view.calls) view.calls->open_all();
      return;
    case 'C':
      if (view.calls) view.calls->close_all();
      return move_to(0);
    case 's':
      sort_ = sort_ == FlatSort::kSelf    ? FlatSort::kTotal
              : sort_ == FlatSort::kTotal ? FlatSort::kName
                                          : FlatSort::kSelf;
      if (view.kind == ViewKind::kFlat) (void)fill(view);
      return move_to(0);
    case 'g':
      by_ = static_cast<FlatBy>((static_cast<int>(by_) + 1) % 4);
      if (view.kind == ViewKind::kFlat) (void)fill(view);
      return move_to(0);
    case 't':
      return toggle_thread();
    case 'm':
      return next_metric();
    case 'T':
      prompt_ = Prompt::kTime;
      break;
    case '[':
      return move_time(-1);
    case ']':
      return move_time(1);
    case '/':
      prompt_ = Prompt::kSearch;
      break;
    case 'n':
      return search(true, false);
    case 'N':
      return search(false, false);
    case 'f':
      prompt_ = Prompt::kFocus;
      break;
    case 'i':
      prompt_ = Prompt::kIgnore;
      break;
    case 'x':
      words = Words{};
      words.metric = words_.metric;
      return change(words);
    case 'y':
    case 'P':
      copied_ = last_copied_ = command();
      status_ = "copied: " + printable(*copied_);
      return;
    default:
      status_ = "h tells the keys";
      return;
  }
  typed_.clear();
}

void Browser::press_prompt(const Key& key) {
  switch (key.kind) {
    case KeyKind::kText:
      if (typed_.size() < 1000) typed_ += key.text;
      return;
    case KeyKind::kBackspace:
      if (typed_.empty()) {
        prompt_ = Prompt::kNone;
        return;
      }
      while (!typed_.empty() && (static_cast<unsigned char>(typed_.back()) & 0xc0) == 0x80) typed_.pop_back();
      if (!typed_.empty()) typed_.pop_back();
      return;
    case KeyKind::kEscape:
      prompt_ = Prompt::kNone;
      return;
    case KeyKind::kEnter:
      return accept(std::exchange(typed_, {}));
    default:
      return;
  }
}

void Browser::accept(const std::string& text) {
  const Prompt prompt = std::exchange(prompt_, Prompt::kNone);
  status_.clear();
  Words words = words_;
  switch (prompt) {
    case Prompt::kNone:
      return;
    case Prompt::kSearch:
      if (!text.empty()) searched_ = text;
      return search(true, true);
    case Prompt::kFocus:
    case Prompt::kIgnore: {
      auto& list = prompt == Prompt::kFocus ? words.focus : words.ignore;
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

// "10:20", "10:", ":20"; nothing: all of it.
void Browser::set_time(const std::string& text) {
  Words words = words_;
  words.from_s.reset();
  words.until_s.reset();
  if (!text.empty()) {
    const std::size_t colon = text.find_first_of(":-");
    const std::string from = text.substr(0, colon);
    const std::string until = colon == std::string::npos ? "" : text.substr(colon + 1);
    words.from_s = number(from);
    words.until_s = number(until);
    if ((!from.empty() && !words.from_s) || (!until.empty() && !words.until_s) ||
        colon == std::string::npos) {
      status_ = "seconds from the start, as 10:20, 10: or :20";
      return;
    }
  }
  change(words);
}

// The slice, moved by its own length; the first time the first tenth.
void Browser::move_time(int steps) {
  const double all = profile_.duration_s();
  if (!(all > 0)) {
    status_ = "the recording does not say how long it is";
    return;
  }
  Words words = words_;
  if (!words_.from_s && !words_.until_s) {
    words.from_s = steps > 0 ? 0 : all * 0.9;
    words.until_s = steps > 0 ? all / 10 : all;
  } else {
    const double from = words_.from_s.value_or(0), until = words_.until_s.value_or(all),
                 length = until - from;
    const double start = std::clamp(from + steps * length, 0.0, std::max(0.0, all - length));
    words.from_s = start;
    words.until_s = start + length;
  }
  // What the screen says is what is meant.
  const auto rounded = [](double value) {
    return std::max(0.0, static_cast<double>(static_cast<std::int64_t>(value * 1000 + 0.5)) / 1000);
  };
  words.from_s = rounded(*words.from_s);
  words.until_s = rounded(*words.until_s);
  change(words);
}

void Browser::toggle_thread() {
  Words words = words_;
  if (words.thread) {
    words.thread.reset();
    return change(words);
  }
  const std::string thread = thread_here();
  if (thread.empty()) {
    prompt_ = Prompt::kThread;
    typed_.clear();
    return;
  }
  words.thread = thread;
  change(words);
}

void Browser::next_metric() {
  const std::vector<model::Metric> metrics = analysis::metrics_in(profile_);
  if (metrics.size() < 2) {
    status_ = "the recording has one metric only";
    return;
  }
  auto at = std::find(metrics.begin(), metrics.end(), selection_.metric);
  Words words = words_;
  if (at == metrics.end() || ++at == metrics.end()) at = metrics.begin();
  words.metric = std::string(model::to_string(*at));
  change(words);
}

void Browser::next_tab(int step) {
  const auto count = static_cast<int>(kTabs.size());
  int at = 0;
  for (int i = 0; i < count; ++i)
    if (kTabs[static_cast<std::size_t>(i)].kind == views_.back().kind) at = i;
  const auto function = function_here();
  for (int i = 1; i < count; ++i) {
    const Tab& tab = kTabs[static_cast<std::size_t>((at + count + step * i) % count)];
    if (needs_function(tab.kind) && !function) continue;
    const std::size_t before = views_.size();
    const ViewKind was = views_.back().kind;
    show(tab.kind, needs_function(tab.kind) ? *function : std::string());
    if (views_.size() != before || views_.back().kind != was) {
      status_.clear();
      return;
    }
  }
}

std::size_t Browser::row_count(const View& view) const {
  switch (view.kind) {
    case ViewKind::kFlat:
      return view.flat.size();
    case ViewKind::kTree:
    case ViewKind::kCallers:
    case ViewKind::kCallees:
      return view.calls ? view.calls->rows().size() : 0;
    case ViewKind::kThreads:
      return view.threads.size();
    default:
      return view.lines.size();
  }
}

std::string Browser::row_name(const View& view, std::size_t row) const {
  switch (view.kind) {
    case ViewKind::kFlat: {
      const FlatRow& flat = view.flat[row];
      if (by_ == FlatBy::kModule) return tree_.modules[flat.module].name;
      return tree_.names[by_ == FlatBy::kThread ? flat.thread : flat.name];
    }
    case ViewKind::kTree:
    case ViewKind::kCallers:
    case ViewKind::kCallees:
      return tree_.names[view.calls->node(view.calls->rows()[row].node).name];
    case ViewKind::kThreads:
      return report_->threads[view.threads[row]].name;
    default:
      return view.lines[row];
  }
}

std::optional<std::string> Browser::function_here() const {
  const View& view = views_.back();
  if (needs_function(view.kind) && (view.kind == ViewKind::kAnnotate || view.cursor >= row_count(view)))
    return view.function;
  if (view.cursor >= row_count(view)) return std::nullopt;
  if (view.kind == ViewKind::kFlat && (by_ == FlatBy::kFunction || by_ == FlatBy::kThreadAndFunction))
    return row_name(view, view.cursor);
  if (view.calls) {
    const auto& node = view.calls->node(view.calls->rows()[view.cursor].node);
    if (node.kind != NodeKind::kThread && node.kind != NodeKind::kRoot) return tree_.names[node.name];
  }
  return std::nullopt;
}

std::string Browser::thread_here() const {
  const View& view = views_.back();
  if (view.cursor >= row_count(view)) return {};
  if (view.kind == ViewKind::kThreads) {
    const analysis::ThreadRow& row = report_->threads[view.threads[view.cursor]];
    return row.tid != 0 ? std::to_string(row.tid) : row.name;
  }
  if (view.kind == ViewKind::kFlat && (by_ == FlatBy::kThread || by_ == FlatBy::kThreadAndFunction))
    return tree_.names[view.flat[view.cursor].thread];
  if (view.kind == ViewKind::kTree) {
    const auto& node = view.calls->node(view.calls->rows()[view.cursor].node);
    if (node.kind == NodeKind::kThread) return tree_.names[node.name];
  }
  return {};
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

void Browser::search(bool forward, bool from_here) {
  if (searched_.empty()) {
    status_ = "/ searches";
    return;
  }
  const Result<analysis::NamePattern> pattern = analysis::NamePattern::parse(searched_);
  if (!pattern) {
    status_ = printable(pattern.error().message);
    return;
  }
  View& view = views_.back();
  const std::size_t rows = row_count(view);
  const std::string plain = lower(searched_);
  for (std::size_t i = from_here ? 0 : 1; i < rows + (from_here ? 0 : 1); ++i) {
    const std::size_t row = (view.cursor + (forward ? i : rows - i % rows)) % rows;
    const std::string name = row_name(view, row);
    if (pattern->is_expression() ? !pattern->matches(name) : lower(name).find(plain) == std::string::npos)
      continue;
    view.cursor = row;
    return;
  }
  status_ = fmt::format("'{}' is not found here", printable(searched_));
}

std::string Browser::command() const {
  const View& view = views_.back();
  std::string text = "fathom report";
  for (const std::string& word : sources_.command_file) text += " " + shell_word(word);
  const auto add = [&](std::string_view option, const std::string& value) {
    text += fmt::format(" {} {}", option, shell_word(value));
  };
  switch (view.kind) {
    case ViewKind::kFlat:
      if (by_ == FlatBy::kModule) add("--by", "module");
      if (by_ == FlatBy::kThread) add("--by", "thread");
      text += sort_ == FlatSort::kTotal ? " --sort total --top 0" : " --sort self --top 0";
      break;
    case ViewKind::kTree:
      text += " --tree";
      break;
    case ViewKind::kCallers:
      add("--callers", view.function);
      break;
    case ViewKind::kCallees:
      add("--callees", view.function);
      break;
    case ViewKind::kAnnotate:
      add("--annotate", view.function);
      break;
    case ViewKind::kThreads:
      text += " --threads";
      break;
    case ViewKind::kWaits:
      text += " --waits";
      break;
    case ViewKind::kHeap:
      text += " --heap";
      break;
    case ViewKind::kAnswer:
    case ViewKind::kHelp:
      break;
  }
  if (!words_.metric.empty()) add("--metric", words_.metric);
  if (words_.thread) add("--thread", *words_.thread);
  if (words_.from_s) add("--from", fmt::format("{:g}", *words_.from_s));
  if (words_.until_s) add("--until", fmt::format("{:g}", *words_.until_s));
  for (const std::string& pattern : words_.focus) add("--focus", pattern);
  for (const std::string& pattern : words_.ignore) add("--ignore", pattern);
  return text;
}

std::string Browser::percent(std::int64_t value) const {
  return value == 0 ? "" : analysis::percent_number(analysis::share(tree_, value));
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
  return text;
}

std::string Browser::tabs() const {
  std::string text;
  for (std::size_t i = 0; i < kTabs.size(); ++i) {
    const bool here = kTabs[i].kind == views_.back().kind;
    text += fmt::format("{}{} {}{}", here ? "[" : " ", i + 1, kTabs[i].name, here ? "]" : " ");
  }
  return text;
}

std::string Browser::head(const View& view) const {
  constexpr std::array<std::string_view, 3> kSorted = {"self", "total", "name"};
  switch (view.kind) {
    case ViewKind::kFlat: {
      std::string text = fmt::format("{:>8}{:>8}  ", "total %", "self %");
      if (by_ == FlatBy::kThreadAndFunction || by_ == FlatBy::kThread)
        text += fmt::format("{:<16}  ", "thread");
      if (by_ != FlatBy::kThread) text += fmt::format("{:<20}  ", "module");
      if (by_ == FlatBy::kFunction || by_ == FlatBy::kThreadAndFunction) text += "    symbol";
      return text + fmt::format("   (by {})", kSorted[static_cast<std::size_t>(sort_)]);
    }
    case ViewKind::kTree:
      return fmt::format("{:>8}{:>8}  call tree", "total %", "self %");
    case ViewKind::kCallers:
    case ViewKind::kCallees:
      return fmt::format("{:>8}{:>8}  {} {} ({} % of all)", "total %", "self %",
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
      std::string text = fmt::format("{:>8}{:>8}  ", percent(flat.total), percent(flat.self));
      const auto column = [&](const std::string& name, std::size_t wide) {
        const std::string fitted = present::keep_tail(printable(name), wide);
        text += fitted + std::string(wide - std::min(wide, present::display_width(fitted)), ' ') + "  ";
      };
      if (by_ == FlatBy::kThreadAndFunction || by_ == FlatBy::kThread) column(tree_.names[flat.thread], 16);
      if (by_ != FlatBy::kThread)
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
      std::string text = fmt::format("{:>8}{:>8}  {}{} {} ", percent(node.total), percent(node.self),
                                     std::string(indent, ' '),
                                     !view.calls->has_children(at.node) ? " "
                                     : view.calls->is_open(at.node)     ? "-"
                                                                        : "+",
                                     marked(node.kind));
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
  style.waits = view.kind == ViewKind::kWaits;
  style.heap = view.kind == ViewKind::kHeap;
  style.file = sources_.command_file.empty() ? "" : sources_.command_file.front();
  std::string text;
  if (view.kind == ViewKind::kHelp) {
    text = help_text();
  } else if (view.kind == ViewKind::kAnnotate) {
    text = present::annotation_text(*view.annotation, style, true);
  } else if (const auto made = report()) {
    text = present::report_text(**made, style);
  }
  view.lines = lines_of(text);
}

std::string Browser::status_line() const {
  constexpr std::array<std::string_view, 6> kAsks = {"",
                                                     "search: ",
                                                     "only stacks with: ",
                                                     "no stacks with: ",
                                                     "seconds FROM:UNTIL: ",
                                                     "thread (name or tid): "};
  if (prompt_ != Prompt::kNone)
    return std::string(kAsks[static_cast<std::size_t>(prompt_)]) + printable(typed_) + "_";
  if (!status_.empty()) return status_;
  const View& view = views_.back();
  const std::size_t rows = row_count(view);
  return fmt::format(
      "{}/{}  h help  a annotate  < callers  > callees  / search  t thread  T time  y command  q back",
      rows == 0 ? 0 : view.cursor + 1, rows);
}

std::vector<ScreenLine> Browser::draw(std::size_t width, std::size_t height) {
  View& view = views_.back();
  wrap_lines(view, width);
  const std::size_t rows = row_count(view);
  view.cursor = rows == 0 ? 0 : std::min(view.cursor, rows - 1);
  std::vector<ScreenLine> lines;
  if (height >= 6) {
    lines.push_back({title(), Style::kTitle});
    lines.push_back({tabs(), Style::kFaint});
  }
  if (height >= 4) lines.push_back({head(view), Style::kHead});
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
