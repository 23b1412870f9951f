#include "analysis/summary/hot_spot.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analysis/core/functions.h"
#include "analysis/core/runtimes.h"
#include "analysis/core/tracer_frames.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr double kLeastShare = 0.1;  // of all: a narrower call is no part of the path

using FunctionKey = std::pair<std::string, std::string>;  // name, module

class Finder {
 public:
  Finder(const Profile& profile, const Selection& selection, const CallTree& tree)
      : profile_(profile),
        tree_(tree),
        leaves_(leaves_of(profile, selection)),
        weights_(leaves_),
        sources_(profile, frame_weights_of(profile, leaves_)),
        facts_(profile.frames.size()),
        tracer_(selection.tracer ? std::nullopt : tracer_module(profile)) {
    for (std::size_t i = weights_.size(); i-- > 1;) weights_[profile.stacks[i].parent.value] += weights_[i];
  }

  HotPath find(std::size_t most) {
    HotPath path;
    find_spots(path);
    path.frames = widest_chain(most);
    return path;
  }

 private:
  static std::vector<std::int64_t> leaves_of(const Profile& profile, const Selection& selection) {
    std::vector<std::int64_t> leaves(profile.stacks.size());
    const Filter filter(profile, selection);
    ValueBudget budget;
    for (const Sample& sample : profile.all_samples())
      if (filter.concerns(sample) && filter.takes(sample))
        leaves[sample.stack.value] += budget.take(sample.value);
    return leaves;
  }

  // Of a stack: the innermost own function, and what it calls on the way to the leaf.
  struct Answer {
    std::uint32_t spot = UINT32_MAX;  // row of spots_
    std::uint32_t stack = 0;          // whose leaf it is
    std::uint32_t part = 0;           // row of parts_ names; 0: itself
    std::uint32_t file = 0, line = 0;
  };
  // What it consists of is added up only of those that are told.
  struct Spot {
    FunctionKey key;
    std::int64_t explained = 0, self = 0;
    bool told = false;
    std::map<std::uint32_t, std::int64_t> parts;
    std::map<std::uint32_t, std::int64_t> stacks;  // those whose leaf it is
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> lines;
  };

  // Of a frame: the innermost own function in it, and the call that is nearest to the caller.
  struct FrameFact {
    bool known = false;
    Answer own;
    std::uint32_t outermost = 0;  // row of part_rows_
  };

  const FrameFact& fact_of(FrameId id) {
    FrameFact& fact = facts_[id.value];
    if (fact.known) return fact;
    fact.known = true;
    const Frame& frame = profile_.frames[id.value];
    const std::uint32_t count = std::max(frame.line_count, 1u);
    fact.outermost = name_row(frame_name(profile_, id, count - 1));
    if (profile_.modules[frame.module.value].kind == ModuleKind::kKernel) return fact;
    std::uint32_t at = 0;
    while (at < count && !sources_.is_own(id, at)) ++at;
    if (at == count) return fact;
    fact.own.spot = spot_row({frame_name(profile_, id, at), module_name(frame)});
    if (at > 0) fact.own.part = name_row(frame_name(profile_, id, at - 1));
    if (at < frame.line_count) {
      fact.own.file = profile_.lines[frame.first_line + at].file.value;
      fact.own.line = profile_.lines[frame.first_line + at].line;
    }
    return fact;
  }

  std::uint32_t name_row(const std::string& name) {
    return part_rows_.try_emplace(name, static_cast<std::uint32_t>(part_rows_.size() + 1)).first->second;
  }

  // The answer of each stack, and what each function explains.
  std::vector<Answer> answers_of_stacks() {
    std::vector<Answer> answers(profile_.stacks.size());
    for (std::uint32_t i = 1; i < answers.size(); ++i) {
      if (weights_[i] <= 0) continue;
      const FrameId id = profile_.stacks[i].frame;
      if (tracer_ && profile_.frames[id.value].module == *tracer_) {
        answers[i] = answers[profile_.stacks[i].parent.value];
        continue;  // nothing ends in it
      }
      const FrameFact& fact = fact_of(id);
      if (fact.own.spot != UINT32_MAX) {
        answers[i] = fact.own;
        answers[i].stack = i;
      } else {
        answers[i] = answers[profile_.stacks[i].parent.value];
        if (answers[i].spot != UINT32_MAX && answers[i].part == 0) answers[i].part = fact.outermost;
      }
      if (leaves_[i] <= 0 || answers[i].spot == UINT32_MAX) continue;
      Spot& spot = spots_[answers[i].spot];
      spot.explained += leaves_[i];
      if (answers[i].part == 0) spot.self += leaves_[i];
    }
    return answers;
  }

  bool is_wide(const Spot& spot) const {
    return static_cast<double>(spot.explained) >= kLeastShare * static_cast<double>(tree_.total);
  }

  void add_up_told(const std::vector<Answer>& answers) {
    for (std::uint32_t i = 1; i < answers.size(); ++i) {
      const Answer& answer = answers[i];
      if (leaves_[i] <= 0 || answer.spot == UINT32_MAX || !spots_[answer.spot].told) continue;
      Spot& spot = spots_[answer.spot];
      spot.stacks[answer.stack] += leaves_[i];
      spot.parts[answer.part] += leaves_[i];
      spot.lines[{answer.file, answer.line}] += leaves_[i];
    }
  }

  void find_spots(HotPath& path) {
    const std::vector<Answer> answers = answers_of_stacks();
    for (const Spot& spot : spots_) {
      path.own_explained += spot.explained;
      if (spot.self == 0) continue;
      path.own_self += spot.self;
      path.own_self_of[spot.key.second] += spot.self;
    }
    const auto largest = std::max_element(
        spots_.begin(), spots_.end(), [](const Spot& a, const Spot& b) { return a.explained < b.explained; });
    if (largest == spots_.end() || largest->explained <= 0) return;
    for (Spot& spot : spots_) spot.told = &spot == &*largest || is_wide(spot);
    add_up_told(answers);
    path.spot = finished(*largest);
    path.spot->own_caller = is_unnamed(path.spot->name) ? path.spot->caller : own_caller_of(*largest);
    for (const Spot& spot : spots_)
      if (&spot != &*largest && is_wide(spot))
        path.others.push_back({spot.key.first, spot.key.second, spot.explained,
                               is_unnamed(spot.key.first) ? caller_of(spot) : own_caller_of(spot)});
    std::stable_sort(path.others.begin(), path.others.end(),
                     [](const HotOther& a, const HotOther& b) { return a.value > b.value; });
  }

  HotSpot finished(const Spot& from) const {
    HotSpot spot{from.key.first, from.key.second, caller_of(from), {}, {}, from.explained, {}};
    const auto line = std::max_element(from.lines.begin(), from.lines.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (line != from.lines.end())
      spot.place = {std::string(base_name(profile_.strings[StringId{line->first.first}])),
                    line->first.second};
    std::vector<const std::string*> names(part_rows_.size() + 1);
    for (const auto& [name, row] : part_rows_) names[row] = &name;
    for (const auto& [row, value] : from.parts) spot.parts.push_back({row == 0 ? "" : *names[row], value});
    std::stable_sort(spot.parts.begin(), spot.parts.end(),
                     [](const HotPart& a, const HotPart& b) { return a.value > b.value; });
    return spot;
  }

  // What has no name is told by who calls it: the nearest function with one, on most of its samples.
  std::string caller_of(const Spot& spot) const {
    if (!is_unnamed(spot.key.first)) return "";
    std::map<std::string, std::int64_t> callers;
    for (const auto& [stack, value] : spot.stacks)
      for (StackId at = profile_.stacks[stack].parent; at.value != 0; at = profile_.stacks[at.value].parent) {
        std::string name = frame_name(profile_, profile_.stacks[at.value].frame);
        if (is_unnamed(name)) continue;
        if (built_in_runtime_rules().has_function(name)) break;  // how a thread starts says nothing
        callers[std::move(name)] += value;
        break;
      }
    return most_of(callers);
  }

  // The nearest other function of the own code, on most of its samples: also one that it was inlined into.
  std::string own_caller_of(const Spot& spot) {
    std::map<std::string, std::int64_t> callers;
    for (const auto& [stack, value] : spot.stacks)
      if (std::string name = own_caller_above(stack, spot.key.first); !name.empty())
        callers[std::move(name)] += value;
    return most_of(callers);
  }

  std::string own_caller_above(std::uint32_t stack, const std::string& callee) {
    for (StackId at{stack}; at.value != 0; at = profile_.stacks[at.value].parent) {
      const FrameId frame = profile_.stacks[at.value].frame;
      for (std::uint32_t line = 0; line < std::max(profile_.frames[frame.value].line_count, 1u); ++line) {
        std::string name = frame_name(profile_, frame, line);
        if (name != callee && !is_unnamed(name) && sources_.is_own(frame, line)) return name;
      }
    }
    return "";
  }

  static std::string most_of(const std::map<std::string, std::int64_t>& callers) {
    const auto most = std::max_element(callers.begin(), callers.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == callers.end() ? "" : most->first;
  }

  std::uint32_t spot_row(FunctionKey key) {
    const auto [known, is_new] = spot_rows_.try_emplace(key, static_cast<std::uint32_t>(spots_.size()));
    if (is_new) spots_.emplace_back().key = std::move(key);
    return known->second;
  }

  std::string module_name(const Frame& frame) const {
    return std::string(profile_.strings[profile_.modules[frame.module.value].name]);
  }

  bool is_own(const TreeNode& node) const {
    if (node.kind != NodeKind::kUser && node.kind != NodeKind::kInlined) return false;
    return sources_.is_own(tree_.name(node));
  }

  HotFrame frame_of(const TreeNode& node) const {
    return {tree_.name(node), tree_.modules[node.module].name,
            node.kind,        sources_.place_of(tree_.name(node)),
            node.self,        node.total,
            is_own(node)};
  }

  std::vector<std::uint32_t> children_of(std::uint32_t node) const {
    std::vector<std::uint32_t> children;
    for (std::uint32_t child = tree_.nodes[node].first_child; child != kNoNode;
         child = tree_.nodes[child].next_sibling)
      children.push_back(child);
    std::stable_sort(children.begin(), children.end(), [&](std::uint32_t a, std::uint32_t b) {
      return tree_.nodes[a].total > tree_.nodes[b].total;
    });
    return children;
  }

  std::vector<HotFrame> widest_chain(std::size_t most) {
    const auto least = static_cast<std::int64_t>(kLeastShare * static_cast<double>(tree_.total));
    std::vector<HotFrame> chain;
    for (std::uint32_t node = 0;;) {
      const std::vector<std::uint32_t> children = children_of(node);
      if (children.empty() || tree_.nodes[children[0]].total < std::max<std::int64_t>(1, least)) break;
      node = children[0];
      HotFrame frame = frame_of(tree_.nodes[node]);
      const auto same = std::find_if(chain.begin(), chain.end(), [&](const HotFrame& other) {
        return other.name == frame.name && other.module == frame.module && other.kind != NodeKind::kThread;
      });
      if (same != chain.end()) {
        ++same->recursions;
        same->self += frame.self;
        continue;
      }
      if (frame.kind != NodeKind::kThread || children.size() > 1) chain.push_back(std::move(frame));
    }
    // How the program was started is no news.
    const auto first =
        std::find_if(chain.begin(), chain.end(), [](const HotFrame& frame) { return frame.own; });
    if (first != chain.end())
      chain.erase(std::remove_if(chain.begin(), first,
                                 [](const HotFrame& frame) { return frame.kind != NodeKind::kThread; }),
                  first);
    // Nor how one own function came to call the next: std::function, an executor, a parser's table.
    const auto last =
        std::find_if(chain.rbegin(), chain.rend(), [](const HotFrame& frame) { return frame.own; });
    if (last != chain.rend())
      chain.erase(std::remove_if(chain.begin(), last.base(),
                                 [&](const HotFrame& frame) {
                                   return !frame.own && frame.kind != NodeKind::kThread && frame.self < least;
                                 }),
                  last.base());
    return chosen(chain, most);
  }

  // The rows that tell most: own code, what it calls, and where the path grows narrower.
  std::vector<HotFrame> chosen(const std::vector<HotFrame>& chain, std::size_t most) const {
    std::vector<std::pair<double, std::size_t>> scores;
    const double all = std::max(1.0, static_cast<double>(tree_.total));
    bool after_own = false;
    std::size_t own = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const HotFrame& frame = chain[i];
      const double next = i + 1 < chain.size() ? static_cast<double>(chain[i + 1].total) : 0;
      double score =
          (static_cast<double>(frame.total) - next) / all + 1e-6 * static_cast<double>(frame.recursions);
      if (frame.own) score += 3 + (++own == 1 ? 1 : 0);
      if (after_own && !frame.own) score += 2;
      if (i + 1 == chain.size()) score += 1;
      after_own = frame.own;
      scores.emplace_back(-score, i);
    }
    std::stable_sort(scores.begin(), scores.end());
    // Of own code the innermost calls tell more than the outermost ones.
    if (own + 2 > most)
      std::stable_sort(scores.begin(), scores.end(),
                       [&](const auto& a, const auto& b) { return a.second > b.second; });
    scores.resize(std::min(scores.size(), most));
    std::vector<std::size_t> rows;
    for (const auto& score : scores) rows.push_back(score.second);
    std::sort(rows.begin(), rows.end());
    std::vector<HotFrame> frames;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      frames.push_back(chain[rows[i]]);
      frames.back().skipped = static_cast<std::uint32_t>(rows[i] - (i == 0 ? 0 : rows[i - 1] + 1));
    }
    return frames;
  }

  const Profile& profile_;
  const CallTree& tree_;
  std::vector<std::int64_t> leaves_, weights_;  // by stack: without and with what is called from there
  SourceFacts sources_;
  std::vector<FrameFact> facts_;  // by frame
  std::optional<model::ModuleId> tracer_;
  std::map<std::string, std::uint32_t> part_rows_;
  std::map<FunctionKey, std::uint32_t> spot_rows_;
  std::vector<Spot> spots_;
};

}  // namespace

HotPath find_hot_path(const Profile& profile, const Selection& selection, const CallTree& tree,
                      std::size_t most) {
  if (tree.metric != Metric::kCpu || tree.total <= 0) return {};
  return Finder(profile, selection, tree).find(most);
}

}  // namespace fathom::analysis
