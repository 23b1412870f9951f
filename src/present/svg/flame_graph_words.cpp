#include "present/svg/flame_graph_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/core/functions.h"
#include "analysis/core/interval.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "present/svg/flame_graph_data.h"
#include "present/svg/flame_graph_text.h"

namespace fathom::present {

using analysis::CallTree;
using analysis::percent;

FlameWords::FlameWords(const CallTree& tree, const FlameGraphOptions& options, const Coloring& coloring)
    : tree_(tree), options_(options), coloring_(coloring), count_name_(clean_text(options.count_name)) {
  for (const std::string& name : tree.names) names_.push_back(clean_text(name));
  if (options.comparison) add_up_sides(*options.comparison);
}

std::string FlameWords::few_samples() const {
  constexpr double kFew = 100;
  if (tree_.total <= 0 || tree_.effective_samples <= 0 || tree_.effective_samples >= kFew) return "";
  // Waits stand for several each, and a few long ones decide: their number says little.
  return (tree_.waits > 0 ? "The waits tell as much as " : "Only ") +
         analysis::counted(tree_.unit == "samples" ? static_cast<std::uint64_t>(tree_.total)
                           : model::is_heap(tree_.metric) || tree_.waits > 0
                               ? static_cast<std::uint64_t>(tree_.effective_samples)
                               : tree_.samples,
                           "sample") +
         ": shares are uncertain by up to ±" +
         analysis::percent_number(analysis::wilson_interval(0.5, tree_.effective_samples).half_width()) +
         " points. Record longer, or under load.";
}

std::string FlameWords::measured() const {
  std::string text = amount(tree_.total);
  if (model::is_heap(tree_.metric)) {
    text += " in " + analysis::counted(tree_.samples, "stack");
  } else if (tree_.unit != "samples" && tree_.samples > 0)
    text += " in " + analysis::counted(tree_.samples, "sample");
  return text;
}

std::string FlameWords::name_of(std::uint32_t node) const {
  return node == 0 ? clean_text(options_.root_name) : names_[tree_.nodes[node].name];
}

void FlameWords::add_up_sides(const FlameComparison& comparison) {
  base_total_ = comparison.base;
  fresh_total_ = comparison.fresh;
  base_total_.resize(tree_.nodes.size());
  fresh_total_.resize(tree_.nodes.size());
  for (std::size_t i = tree_.nodes.size(); i-- > 1;) {
    base_total_[tree_.nodes[i].parent] += base_total_[i];
    fresh_total_[tree_.nodes[i].parent] += fresh_total_[i];
  }
}

// The topmost frame of what is gone or new says so: the frames that it calls have the same colour. The legend has the signs.
FlameWords::ChangeMark FlameWords::change_mark(std::uint32_t node) const {
  if (!options_.comparison || node == 0 || coloring_.of_node[node] == 0) return {};
  const std::uint32_t parent = tree_.nodes[node].parent;
  if (base_total_[node] == 0 && base_total_[parent] != 0) return {"new: ", "+ "};
  if (fresh_total_[node] == 0 && fresh_total_[parent] != 0) return {"gone: ", "− "};
  return {};
}

std::string FlameWords::label(const FlameBox& box, std::size_t columns) const {
  if (box.hidden > 0)
    return frame_label(
        analysis::counted(box.hidden, "frame") + ", " + percent(analysis::share(tree_, box.value)), columns);
  // The sign where the word would cost a part of the name.
  const ChangeMark mark = change_mark(box.node);
  for (const std::string_view before : {mark.word, mark.sign}) {
    const std::size_t room = text_columns(before);
    if (room == 0 || room >= columns) continue;
    const std::string name = frame_label(name_of(box.node), columns - room);
    if (name.empty() || (before == mark.word && name.starts_with("…"))) continue;
    return std::string(before) + name;
  }
  return frame_label(name_of(box.node), columns);
}

std::string FlameWords::share_with_error(std::int64_t value) const {
  const double share = analysis::share(tree_, value);
  std::string text = percent(share);
  if (is_sampled(tree_) && value != tree_.total) {
    text += " ±" +
            analysis::percent_number(analysis::wilson_interval(share, tree_.effective_samples).half_width());
  }
  return text;
}

// With the digits that are known.
std::string FlameWords::amount(std::int64_t value) const {
  return count_name_.empty() && is_estimated(tree_) ? analysis::amount_of(tree_, value)
                                                    : quantity(value, tree_.unit, count_name_);
}

std::string FlameWords::tooltip(const FlameBox& box) const {
  std::string much = options_.comparison ? share_with_error(box.value) + " of the width"
                                         : amount(box.value) + ", " + share_with_error(box.value);
  if (options_.comparison && box.hidden == 0)
    much = compared(*options_.comparison, base_total_[box.node], fresh_total_[box.node]);
  if (box.hidden > 0) return analysis::counted(box.hidden, "narrow frame") + " (" + much + ")";
  const analysis::TreeNode& node = tree_.nodes[box.node];
  const std::string module = clean_text(tree_.modules[node.module].name);
  const std::string where = module.empty() ? "" : module.front() == '[' ? " " + module : " [" + module + "]";
  const std::string woken = options_.wakers.empty() || options_.wakers[box.node].empty()
                                ? ""
                                : "; " + clean_text(options_.wakers[box.node]);
  return name_of(box.node) + where + " (" + much + ")" + woken;
}

std::string FlameWords::orientation() const {
  const bool has_threads = tree_.nodes.size() > 1 && tree_.nodes[1].kind == analysis::NodeKind::kThread;
  const std::string root = clean_text(options_.root_name);
  const std::string way = options_.inverted ? "downwards" : "upwards";
  const std::string first = options_.inverted ? "top" : "bottom";
  const std::string nearer = options_.inverted ? "above" : "below";
  const bool is_time = tree_.unit == "ns" || tree_.unit == "us";
  const std::string width = "Width: " + (count_name_.empty() ? is_time ? "time" : tree_.unit : count_name_) +
                            "; left to right is by name, not by time.";
  if (options_.reverse) {
    return "Read it " + way + ": the " + first + " row is \"" + root +
           "\", the next one what was running (leaves); each frame was called by the frames beyond it. " +
           width;
  }
  return "Read it " + way + ": the " + first + " row is \"" + root + "\"" +
         (has_threads ? ", then its threads" : "") + "; each frame was called by the frame " + nearer +
         " it. " + width;
}

std::string FlameWords::description(std::string_view title, std::string_view subtitle) const {
  if (options_.comparison) return fmt::format("{}. {}. {}", title, subtitle, orientation());
  std::vector<std::pair<std::int64_t, std::uint32_t>> self(tree_.names.size());
  for (std::uint32_t i = 0; i < self.size(); ++i) self[i].second = i;
  for (std::size_t i = 1; i < tree_.nodes.size(); ++i) {
    self[tree_.nodes[i].name].first -=
        options_.reverse ? (tree_.nodes[i].depth == 1 ? tree_.nodes[i].total : 0) : tree_.nodes[i].self;
  }
  std::sort(self.begin(), self.end());
  std::string text = "Flame graph of " + measured() + ". " + orientation();
  std::string most;
  for (std::size_t i = 0; i < self.size() && i < 5 && self[i].first < 0; ++i) {
    most += (most.empty() ? "" : "; ") + names_[self[i].second] + " " +
            percent(analysis::share(tree_, -self[i].first));
  }
  return most.empty() ? text : text + " Most of it ran in: " + most + ".";
}

}  // namespace fathom::present
