// What `fathom tui` is, without a terminal: keys in, lines of a screen out. A stack of views over one selection; each view is
// that of a command of fathom, which it can name. Text from files goes through analysis::printable before it is on a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/annotate/annotation.h"
#include "analysis/core/selection.h"
#include "analysis/summary/report.h"
#include "base/result.h"
#include "model/profile.h"
#include "present/tui/call_list.h"
#include "present/tui/flat_list.h"
#include "present/tui/keys.h"
#include "present/tui/open_calls.h"
#include "present/tui/screen.h"

namespace fathom::tui {

// The selection as the command line says it.
struct Words {
  std::string metric;  // empty: the recording's first
  std::optional<std::string> thread;
  std::optional<double> from_s, until_s;
  std::vector<std::string> focus, ignore;
  analysis::StackCuts cuts;
};

// What the browser is given: it opens no file.
struct Sources {
  std::function<Result<analysis::Selection>(const Words&)> select;
  std::function<Result<annotate::Annotation>(const analysis::Selection&, const std::string& function)>
      annotate;
  std::vector<std::string> command_file;  // how commands name the recording: its path, and options to open it
};

enum class ViewKind : std::uint8_t {
  kFlat,
  kTree,
  kCallers,
  kCallees,
  kAnnotate,
  kThreads,
  kWaits,
  kHeap,
  kAnswer,
  kHelp,
};

class Browser {
 public:
  // `profile` outlives it. Fails where the selection does.
  static Result<std::unique_ptr<Browser>> open(const model::Profile& profile, const Words& words,
                                               Sources sources);
  void press(const Key& key);
  // `height` lines; of a screen too small for a table as much as there is room for.
  std::vector<ScreenLine> draw(std::size_t width, std::size_t height);
  bool done() const { return done_; }
  // The command of fathom that prints what is shown.
  std::string command() const;
  // Set by the key that asks for it, until it is taken.
  std::optional<std::string> take_copied();
  const std::string& last_copied() const { return last_copied_; }  // "": none was

  ViewKind kind() const { return views_.back().kind; }

 private:
  struct View {
    ViewKind kind = ViewKind::kFlat;
    std::string function;  // of callers, callees and annotations
    std::size_t cursor = 0, top = 0;
    std::vector<FlatRow> flat;
    std::optional<CallList> calls;
    OpenCalls open;                    // of `calls`, under the selections before this one
    std::vector<std::size_t> threads;  // rows of report()->threads
    std::vector<std::string> lines;
    std::size_t lines_width = 0;
    std::optional<annotate::Annotation> annotation;
  };
  enum class Prompt : std::uint8_t { kNone, kSearch, kFocus, kIgnore, kHide, kShowFrom, kTime, kThread };

  Browser(const model::Profile& profile, Sources sources) : profile_(profile), sources_(std::move(sources)) {}
  Result<> load(const Words& words);
  Result<const analysis::Report*> report();
  Result<> fill(View& view);
  void show(ViewKind kind, const std::string& function = {});
  void change(const Words& words);
  OpenCalls::Name name_of(const analysis::MergedCalls::Node& node) const;
  void back();

  // What a key does, by its name in the table of all keys (present/keys/key_rules.txt).
  struct Action {
    std::string_view name;
    void (*does)(Browser&);
  };
  static std::span<const Action> actions();
  void press_text(const std::string& text);
  void show_tab(std::size_t tab);
  void show_of_function(ViewKind kind);
  void order_rows();
  void group_rows();
  void press_prompt(const Key& key);
  void accept(const std::string& entered);
  void set_time(const std::string& text);
  void move_time(int steps);
  void toggle_thread();
  void next_metric();
  void next_tab(int step);
  void search(const std::string& text, bool forward, bool from_here);
  void search_as_typed();
  void ask_for(Prompt prompt);
  void click(const Key& key);

  std::size_t row_count(const View& view) const;
  std::string row_name(const View& view, std::size_t row) const;
  std::optional<std::string> function_here() const;
  std::string thread_here() const;
  void enter();
  void open_here(bool open);
  void move_to(std::size_t row);

  std::string title() const;
  std::vector<std::string> tabs(std::size_t width) const;  // as they stand next to each other
  std::string head(const View& view, std::size_t width) const;
  ScreenLine row_line(const View& view, std::size_t row, std::size_t width) const;
  void wrap_lines(View& view, std::size_t width);
  std::string status_line() const;
  std::string percent(std::int64_t value) const;
  std::string percents(const std::string& total, const std::string& self, std::size_t width) const;
  bool has_module(std::size_t width) const;
  std::string marked(const analysis::NodeKind kind) const;

  const model::Profile& profile_;
  Sources sources_;
  Words words_;
  analysis::Selection selection_;
  analysis::CallTree tree_;
  std::optional<analysis::Report> report_;
  std::vector<View> views_;
  FlatBy by_ = FlatBy::kFunction;
  FlatSort sort_ = FlatSort::kSelf;
  Prompt prompt_ = Prompt::kNone;
  std::string typed_, searched_, status_, last_copied_;
  std::optional<std::string> copied_;
  std::string suggested_;                   // what Enter means in an empty prompt: the function at the cursor
  std::size_t search_origin_ = 0;           // the cursor before the search
  std::size_t page_ = 10;                   // rows of the last screen
  std::size_t first_row_ = 0, width_ = 80;  // of the last screen: the line of the first row
  bool has_tabs_ = false;
  bool done_ = false;
};

}  // namespace fathom::tui
