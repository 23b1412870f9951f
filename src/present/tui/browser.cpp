// The stack of views over one selection: what each of them holds, and what the cursor stands on.
#include "present/tui/browser.h"

#include <algorithm>
#include <utility>

#include "analysis/core/functions.h"
#include "analysis/core/words.h"
#include "present/tui/view_kinds.h"

namespace fathom::tui {

using analysis::NodeKind;
using analysis::printable;

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
      // The cursor is at one function, whatever others are called alike in short.
      Result<std::vector<char>> names = std::vector<char>(tree_.names.size());
      const auto same = std::ranges::find(tree_.names, view.function);
      if (same != tree_.names.end())
        (*names)[static_cast<std::size_t>(same - tree_.names.begin())] = 1;
      else
        names = analysis::matching_names(tree_, view.function);
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

OpenCalls::Name Browser::name_of(const analysis::MergedCalls::Node& node) const {
  return {tree_.names[node.name], tree_.modules[node.module].name};
}

// Views that the new selection leaves nothing of are closed. In those of calls what was open stays open.
void Browser::change(const Words& words) {
  const auto named = [this](const analysis::MergedCalls::Node& node) { return name_of(node); };
  for (View& view : views_)
    if (view.calls) view.open.remember(*view.calls, view.cursor, named);
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
    if (view.calls) view.cursor = view.open.restore(*view.calls, named);
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

std::optional<std::string> Browser::take_copied() {
  return std::exchange(copied_, std::nullopt);
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

}  // namespace fathom::tui
