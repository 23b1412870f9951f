#include "present/svg/diff_flame_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/core/words.h"
#include "present/sentences/diff_figures.h"
#include "present/sentences/diff_legend.h"
#include "present/sentences/diff_sentences.h"

namespace fathom::present {
namespace {

using analysis::CallTree;
using analysis::DiffReport;
using analysis::DiffUnit;
using analysis::UnionTree;

// How much of the larger side has changed: less than a tenth, less than a third, more; and all of it.
constexpr std::array<double, 2> kSteps = {0.1, 1.0 / 3};
constexpr std::size_t kGoneOrNew = kSteps.size() + 1, kStepCount = kGoneOrNew + 1;

// Nearly everyone can distinguish blue and orange; grey is in the middle of both.
constexpr Color kGreyLight{214, 216, 220}, kGreyDark{74, 79, 87};
constexpr std::array<Color, kStepCount> kLessLight = {
    {{190, 211, 232}, {146, 185, 222}, {96, 153, 207}, {52, 119, 187}}};
constexpr std::array<Color, kStepCount> kMoreLight = {
    {{250, 220, 182}, {248, 190, 122}, {240, 150, 60}, {222, 110, 20}}};
constexpr std::array<Color, kStepCount> kLessDark = {
    {{64, 86, 110}, {52, 92, 134}, {44, 98, 158}, {38, 104, 180}}};
constexpr std::array<Color, kStepCount> kMoreDark = {
    {{104, 84, 60}, {130, 88, 42}, {156, 90, 26}, {178, 88, 12}}};

std::size_t step_of(double base, double fresh) {
  if (std::min(base, fresh) == 0) return kGoneOrNew;
  const double part = std::fabs(fresh - base) / std::max(base, fresh);
  std::size_t step = 0;
  while (step < kSteps.size() && part >= kSteps[step]) ++step;
  return step;
}

// Which places have changed by more than noise, in all and by themselves.
struct Judged {
  std::vector<char> total, self;  // by place
};

Judged judged_places(const DiffReport& report) {
  const UnionTree& tree = report.tree;
  using Key = std::pair<std::string_view, std::string_view>;  // views of the report's own texts
  std::map<Key, const analysis::DiffRow*> rows;
  for (const analysis::DiffRow& row : report.rows) rows.emplace(Key{row.name, row.module}, &row);
  std::map<std::string_view, const analysis::DiffGroup*> threads, causes;
  for (const analysis::DiffGroup& group : report.threads) threads.emplace(group.name, &group);
  for (const analysis::DiffGroup& group : report.causes) causes.emplace(group.name, &group);
  Judged judged;
  for (const analysis::UnionPlace& place : tree.places) {
    const std::string& name = tree.names[place.name];
    bool total = false, self = false;
    if (place.kind == analysis::NodeKind::kThread) {
      total = threads.at(name)->self.beyond_noise;
    } else if (place.kind == analysis::NodeKind::kCause) {
      total = self = causes.at(name)->self.beyond_noise;
    } else if (const auto found = rows.find(Key{name, tree.modules[place.module]}); found != rows.end()) {
      total = found->second->total.beyond_noise;
      self = found->second->self.beyond_noise;
    }
    judged.total.push_back(total ? 1 : 0);
    judged.self.push_back(self ? 1 : 0);
  }
  return judged;
}

class Drawing {
 public:
  Drawing(const DiffReport& report, DiffWidth width, FlameGraphOptions& options)
      : report_(report), width_(width), options_(options), figures_(analysis::node_figures(report)) {}

  std::string draw() {
    const std::size_t count = report_.tree.nodes.size();
    for (std::vector<double>* side : {&figures_.base, &figures_.fresh}) {
      for (double& value : *side) value = std::max(value, 0.0);
    }
    // Of what is drawn: in a broken file the whole may be less than its parts.
    const auto sum = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0);
    };
    scale_ = std::max({sum(figures_.base), sum(figures_.fresh), 1e-300}) / kWholeWidth;
    std::vector<std::int64_t> self(count);
    for (std::size_t node = 0; node < count; ++node) {
      const double base = figures_.base[node] / scale_, fresh = figures_.fresh[node] / scale_;
      self[node] = std::llround(width_ == DiffWidth::kBase  ? base
                                : width_ == DiffWidth::kNew ? fresh
                                                            : base + fresh);
    }
    CallTree tree = analysis::as_call_tree(report_.tree, self, origin_);
    tree.metric = report_.metric;
    tree.unit = "";
    options_.comparison = sides();
    options_.coloring = coloring(tree);
    options_.root_name = side_name(report_.base) + " → " + side_name(report_.fresh);
    describe();
    return flame_graph_svg(tree, options_);
  }

 private:
  static constexpr double kWholeWidth = 1e9;  // of a side, in whole numbers

  FlameComparison sides() const {
    FlameComparison comparison;
    comparison.scale = scale_;
    comparison.percent = report_.unit == DiffUnit::kOfCore || report_.unit == DiffUnit::kShare;
    comparison.unit = report_.unit == DiffUnit::kNs      ? "ns"
                      : report_.unit == DiffUnit::kBytes ? "bytes"
                                                         : report_.count_unit;
    for (const std::uint32_t node : origin_) {
      comparison.base.push_back(std::llround(figures_.base[node] / scale_));
      comparison.fresh.push_back(std::llround(figures_.fresh[node] / scale_));
    }
    return comparison;
  }

  // How the sampling error of a frame compares to its change; a function's verdict does not hold for each of its frames.
  bool is_beyond_own_error(double base, double fresh) const {
    if (report_.whole.sd <= 0 || report_.exact) return base != fresh;
    const double samples =
        std::max<double>(static_cast<double>(report_.base.samples + report_.fresh.samples), 1);
    const double sample = (report_.whole.base + report_.whole.fresh) / samples;  // what one is worth
    constexpr double kDeviations = 3;
    return std::fabs(fresh - base) > kDeviations * std::sqrt(sample * (base + fresh));
  }

  Coloring coloring(const CallTree& tree) {
    std::vector<double> base, fresh;  // with what is called
    for (const std::uint32_t node : origin_) {
      base.push_back(figures_.base[node]);
      fresh.push_back(figures_.fresh[node]);
    }
    const std::vector<double> base_self = base, fresh_self = fresh;
    for (std::size_t i = tree.nodes.size(); i-- > 1;) {
      base[tree.nodes[i].parent] += base[i];
      fresh[tree.nodes[i].parent] += fresh[i];
    }
    const Judged judged = judged_places(report_);
    Coloring coloring;
    coloring.classes.push_back({"n0", kGreyLight, kGreyDark});
    std::map<std::tuple<bool, std::size_t, bool>, std::uint16_t> rows;
    std::array<std::vector<std::uint16_t>, 2> of_way, whole_way;
    std::vector<std::uint16_t> striped_rows;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const std::uint32_t place = report_.tree.nodes[origin_[i]].place;
      const bool root = i == 0;
      const bool changed =
          (root ? report_.whole.beyond_noise : judged.total[place] != 0 || judged.self[place] != 0) &&
          is_beyond_own_error(base[i], fresh[i]) && base[i] != fresh[i];
      if (!changed) {
        coloring.of_node.push_back(0);
        continue;
      }
      const bool striped = !root && judged.self[place] != 0 &&
                           is_beyond_own_error(base_self[i], fresh_self[i]) && base_self[i] != fresh_self[i];
      const bool more = fresh[i] > base[i];
      const std::size_t step = step_of(base[i], fresh[i]);
      const auto [row, added] =
          rows.try_emplace({more, step, striped}, static_cast<std::uint16_t>(coloring.classes.size()));
      if (added) {
        ColorClass color;
        color.name = fmt::format("{}{}", more ? (striped ? 'q' : 'p') : (striped ? 'm' : 'l'), step);
        color.light = (more ? kMoreLight : kLessLight)[step];
        color.dark = (more ? kMoreDark : kLessDark)[step];
        color.striped = striped;
        coloring.classes.push_back(color);
        (step == kGoneOrNew ? whole_way : of_way)[more ? 1 : 0].push_back(row->second);
        if (striped) striped_rows.push_back(row->second);
      }
      coloring.of_node.push_back(row->second);
    }
    if (!whole_way[0].empty()) coloring.legend.push_back({"gone (−)", whole_way[0], -1});
    if (!of_way[0].empty()) coloring.legend.push_back({"less than in base", of_way[0], -1});
    if (!of_way[1].empty()) coloring.legend.push_back({"more than in base", of_way[1], -1});
    if (!whole_way[1].empty()) coloring.legend.push_back({"new (+)", whole_way[1], -1});
    if (!striped_rows.empty()) coloring.legend.push_back({"its own code changed", striped_rows, -1});
    coloring.legend.push_back({"no more than noise", {0}, -1});
    coloring.meaning =
        "Blue frames cost less than in base, orange ones more, each with all that it calls; the stronger the colour, the larger the change (up to a tenth, up to a third, more, all). Stripes: the cost of the function's own code changed, not only that of its callees.";
    return coloring;
  }

  // Of the whole: "57.5 % → 77.5 % (× 1.35)". Shares have the same whole on both sides.
  std::string ratio_text() const {
    const analysis::Change& whole = report_.whole;
    if (report_.normalization == analysis::Normalization::kShare || whole.base == whole.fresh)
      return "what changed";
    std::string change = "no more than noise";
    if (whole.base == 0 || whole.fresh == 0) {
      change = relative_change(whole);
    } else if (whole.beyond_noise) {
      const double times = whole.fresh / whole.base;
      change = times < 9.95 ? fmt::format("× {:.2f}", times) : fmt::format("× {:.0f}", times);
    }
    return fmt::format("{} → {} ({})", diff_value(report_, whole.base), diff_value(report_, whole.fresh),
                       change);
  }

  void describe() {
    if (options_.title.empty())
      options_.title = fmt::format("{}: {}", model::info_of(report_.metric).title, ratio_text());
    if (options_.subtitle.empty())
      options_.subtitle = fmt::format("{} → {} · {}", side_name(report_.base), side_name(report_.fresh),
                                      diff_figure_name(report_));
    if (options_.count_name.empty())
      options_.count_name =
          diff_figure_name(report_) + (width_ == DiffWidth::kBase  ? " in base"
                                       : width_ == DiffWidth::kNew ? " in new"
                                                                   : ", base and new together");
    for (const std::string& doubt : doubt_sentences(report_))
      options_.warnings.push_back("Doubtful: " + doubt + ".");
    options_.notes.insert(options_.notes.begin(), diff_headline(report_));
    std::string floor = diff_legend(report_);
    double least = 0;
    for (const analysis::DiffRow& row : report_.rows) {
      if (row.self.looked_at && !row.self.beyond_noise) least = std::max(least, row.self.error);
    }
    if (least > 0) {
      const bool points = report_.unit == DiffUnit::kOfCore || report_.unit == DiffUnit::kShare;
      floor += fmt::format(
          " Floor: a change of more than {} in the own cost of any function would have been detected.",
          points ? analysis::percent_number(least) + " points" : diff_value(report_, least));
    }
    options_.notes.push_back(std::move(floor));
    if (const std::string unmatched = unmatched_sentence(report_); !unmatched.empty())
      options_.notes.push_back(unmatched);
  }

  const DiffReport& report_;
  DiffWidth width_;
  FlameGraphOptions& options_;
  analysis::NodeFigures figures_;
  double scale_ = 1;
  std::vector<std::uint32_t> origin_;  // by node of the drawing
};

}  // namespace

std::optional<DiffWidth> diff_width_from(std::string_view name) {
  if (name == "both") return DiffWidth::kBoth;
  if (name == "base") return DiffWidth::kBase;
  if (name == "new") return DiffWidth::kNew;
  return std::nullopt;
}

std::string diff_flame_graph_svg(const DiffReport& report, DiffWidth width, FlameGraphOptions options) {
  return Drawing(report, width, options).draw();
}

}  // namespace fathom::present
