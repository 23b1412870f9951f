#include "analysis/summary/hot_subject.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace fathom::analysis {
namespace {

constexpr std::uint32_t kNoFunction = UINT32_MAX;
constexpr double kOfLargest = 0.25;  // a call that accounts for less of the widest function is not followed
constexpr double kLargePart = 0.25;  // of all samples: followed whatever its caller has; else
constexpr double kMostOfCaller = 0.66;  // of its caller's
constexpr double kSameTime = 0.9;       // of its caller: one chain of calls
constexpr double kMostOfLeaf =
    0.66;                      // of a leaf's samples come by way of the code that is named in its place
constexpr double kHalf = 0.5;  // of that code's samples end in the leaf
constexpr double kOwnPreferred = 1.5;  // own code counts for so much more than other code

class SubjectFinder {
 public:
  SubjectFinder(const CallTree& tree, const std::function<CodeFact(const TreeNode&)>& code_of)
      : tree_(tree), function_of_(tree.nodes.size(), kNoFunction) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> names;
    std::map<std::uint32_t, std::uint32_t> groups;  // by module
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      if (node.kind != NodeKind::kUser && node.kind != NodeKind::kInlined && node.kind != NodeKind::kKernel)
        continue;
      const auto [known, is_new] = names.try_emplace({node.name, node.module}, kNoFunction);
      if (is_new) {
        const CodeFact code = code_of(node);
        if (code.rank == CodeRank::kNone) continue;
        const auto next = static_cast<std::uint32_t>(functions_.size());
        known->second = code.grouped ? groups.try_emplace(node.module, next).first->second : next;
        if (known->second == next)
          functions_.push_back({node.name, node.module, node.kind, code.rank, code.grouped});
      }
      function_of_[i] = known->second;
    }
    calls_a_subject_.resize(functions_.size());
    weights_.reserve(tree.nodes.size());
    for (const TreeNode& node : tree.nodes) weights_.push_back(node.total);
  }

  std::vector<HotSubject> find(std::size_t most) {
    std::vector<HotSubject> subjects;
    while (subjects.size() < most) {
      const double least =
          (subjects.empty() ? kSubjectShare : kFurtherShare) * static_cast<double>(tree_.total);
      const auto subject = next_subject(static_cast<std::int64_t>(least), subjects.empty());
      if (!subject) break;
      subjects.push_back(*subject);
      if (subject->spread) break;
      exclude(row_of(*subject));
    }
    return subjects;
  }

 private:
  struct Function {
    std::uint32_t name, module;
    NodeKind kind;
    CodeRank rank;
    bool grouped;
  };
  // Of the samples below one function: how many have each other function for the first time there, and how deep it is.
  struct Below {
    std::vector<std::int64_t> total;
    std::vector<double> depth;  // sum over samples
    std::int64_t self = 0;      // samples of it with no named function below
  };

  std::uint32_t row_of(const HotSubject& subject) const {
    for (std::uint32_t i = 0; i < functions_.size(); ++i)
      if (functions_[i].name == subject.name && functions_[i].module == subject.module) return i;
    return kNoFunction;
  }

  // Visits nodes depth first with the functions that are open above each; `enter` gets the node and whether its function
  // is open for the first time.
  template <class Enter>
  void walk(Enter enter) const {
    std::vector<std::uint32_t> open_count(functions_.size());
    std::vector<std::uint32_t> path;  // function of each depth
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      const std::uint32_t depth = tree_.nodes[i].depth;
      for (; path.size() > depth; path.pop_back())
        if (path.back() != kNoFunction) --open_count[path.back()];
      const std::uint32_t function = function_of_[i];
      enter(i, function, function != kNoFunction && open_count[function] == 0, open_count, path);
      path.push_back(function);
      if (function != kNoFunction) ++open_count[function];
    }
  }

  // kNoFunction: of all samples.
  Below below(std::uint32_t from) const {
    Below sums{std::vector<std::int64_t>(functions_.size()), std::vector<double>(functions_.size()), 0};
    walk([&](std::size_t i, std::uint32_t function, bool is_first, const auto& open_count, const auto&) {
      if (is_first && (from == kNoFunction || open_count[from] != 0)) {
        sums.total[function] += weights_[i];
        sums.depth[function] += static_cast<double>(weights_[i]) * tree_.nodes[i].depth;
      }
    });
    if (from != kNoFunction) sums.self = self_of(from);
    return sums;
  }

  // Samples of which it is the deepest function with a name: its own instructions, and what has no name below it.
  std::int64_t self_of(std::uint32_t function) const {
    std::int64_t self = 0;
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      std::uint32_t at = static_cast<std::uint32_t>(i);
      if (excluded_self(i) <= 0) continue;
      while (at != 0 && function_of_[at] == kNoFunction) at = tree_.nodes[at].parent;
      if (function_of_[at] == function) self += excluded_self(i);
    }
    return self;
  }
  std::int64_t excluded_self(std::size_t node) const {
    return weights_[node] <= 0 ? 0 : tree_.nodes[node].self;
  }

  double mean_depth(const Below& sums, std::uint32_t function) const {
    return sums.depth[function] / static_cast<double>(std::max<std::int64_t>(1, sums.total[function]));
  }

  // Below `from`: the deepest that takes nearly all of it, else the one that takes most; none below `least`.
  template <class Takes>
  std::uint32_t next_down(std::uint32_t from, const Below& sums, std::int64_t of, std::int64_t least,
                          Takes takes) const {
    std::uint32_t most = kNoFunction, chained = kNoFunction;
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
      if (i == from || !takes(functions_[i].rank) || sums.total[i] < std::max<std::int64_t>(1, least))
        continue;
      if (most == kNoFunction || sums.total[i] > sums.total[most] ||
          (sums.total[i] == sums.total[most] && mean_depth(sums, i) > mean_depth(sums, most)))
        most = i;
      if (static_cast<double>(sums.total[i]) >= kSameTime * static_cast<double>(of) &&
          (chained == kNoFunction || mean_depth(sums, i) > mean_depth(sums, chained)))
        chained = i;
    }
    return chained != kNoFunction ? chained : most;
  }

  // The deepest function with a rank that `takes` which accounts for `least`, and for a quarter of the widest of them.
  template <class Takes>
  std::uint32_t deepest(std::int64_t least, Takes takes) const {
    const Below all = below(kNoFunction);
    std::uint32_t at = next_down(kNoFunction, all, INT64_MAX, least, takes);
    if (at == kNoFunction) return at;
    least = std::max(least, static_cast<std::int64_t>(kOfLargest * static_cast<double>(whole_[at])));
    for (std::size_t steps = 0; steps < functions_.size(); ++steps) {
      const Below sums = below(at);
      const std::uint32_t next = next_down(at, sums, whole_[at], least, takes);
      if (next == kNoFunction || sums.self >= sums.total[next]) break;
      const auto part = static_cast<double>(sums.total[next]);
      if (part < kLargePart * static_cast<double>(tree_.total) &&
          part < kMostOfCaller * static_cast<double>(whole_[at]))
        break;  // a caller that is split into small parts is the better answer
      at = next;
    }
    return at;
  }

  // Of the samples of `leaf`: how many have each other function above it.
  std::vector<std::int64_t> callers_of(std::uint32_t leaf) const {
    std::vector<std::int64_t> above(functions_.size());
    std::vector<std::uint32_t> seen;
    walk([&](std::size_t i, std::uint32_t function, bool is_first, const auto&, const auto& path) {
      if (function != leaf || !is_first) return;
      seen.clear();
      for (const std::uint32_t each : path)
        if (each != kNoFunction && std::ranges::find(seen, each) == seen.end()) {
          seen.push_back(each);
          above[each] += weights_[i];
        }
    });
    return above;
  }

  // The code of a higher rank, nearest above `leaf`, that spends most of its time there.
  std::uint32_t employer_of(std::uint32_t leaf) const {
    const std::vector<std::int64_t> above = callers_of(leaf);
    const auto of_leaf = static_cast<double>(whole_[leaf]);
    std::uint32_t best = kNoFunction;
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
      const CodeRank rank = functions_[i].rank;
      if (rank <= functions_[leaf].rank || rank == CodeRank::kPlumbing || calls_a_subject_[i] != 0) continue;
      if (static_cast<double>(above[i]) < kMostOfLeaf * of_leaf ||
          of_leaf < kHalf * static_cast<double>(whole_[i]))
        continue;
      if (best == kNoFunction || rank > functions_[best].rank ||
          (rank == functions_[best].rank && whole_[i] < whole_[best]))
        best = i;
    }
    return best == kNoFunction ? leaf : best;
  }

  // Own code or other code: own code, unless other code that it does not call takes much more.
  std::uint32_t choose(std::int64_t least) const {
    const std::uint32_t own = deepest(least, [](CodeRank rank) { return rank == CodeRank::kOwn; });
    const std::uint32_t leaf = deepest(least, [](CodeRank rank) {
      return rank != CodeRank::kOwn && rank != CodeRank::kStart && rank != CodeRank::kNone;
    });
    if (leaf == kNoFunction) return own;
    const std::uint32_t other = employer_of(leaf);
    if (own == kNoFunction || other == own) return other;
    const auto by_own = static_cast<double>(callers_of(leaf)[own]);
    if (by_own >= kMostOfLeaf * static_cast<double>(whole_[leaf])) return own;
    return kOwnPreferred * static_cast<double>(whole_[own]) >= static_cast<double>(whole_[other]) ? own
                                                                                                  : other;
  }

  HotSubject subject_of(std::uint32_t function) const {
    const Function& of = functions_[function];
    return {of.name, of.module, of.kind, of.rank, whole_[function], of.grouped};
  }

  std::optional<HotSubject> next_subject(std::int64_t least, bool is_first) {
    whole_ = below(kNoFunction).total;
    if (const std::uint32_t found = choose(least); found != kNoFunction) {
      HotSubject subject = subject_of(found);
      if (calls_a_subject_[found] == 0) return subject;
      subject.itself = true;
      subject.total = self_of(found);
      return subject.total >= least ? std::optional(subject) : std::nullopt;
    }
    if (!is_first) return std::nullopt;
    const std::uint32_t start = deepest(least, [](CodeRank rank) { return rank == CodeRank::kStart; });
    if (start != kNoFunction && self_of(start) >= least) return subject_of(start);
    const std::uint32_t widest = choose(1);
    if (widest == kNoFunction) return start == kNoFunction ? std::nullopt : std::optional(subject_of(start));
    HotSubject subject = subject_of(widest);
    subject.spread = true;
    return subject;
  }

  // What has been told is taken out of the sums: samples of the function, wherever it stands on the stack.
  void exclude(std::uint32_t function) {
    const std::vector<std::int64_t> above = callers_of(function);
    for (std::uint32_t i = 0; i < functions_.size(); ++i)
      if (static_cast<double>(above[i]) >= kHalf * static_cast<double>(whole_[function]))
        calls_a_subject_[i] = 1;
    std::vector<char> inside(tree_.nodes.size());
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      inside[i] = function_of_[i] == function || (i != 0 && inside[tree_.nodes[i].parent] != 0) ? 1 : 0;
      if (inside[i] != 0) weights_[i] = 0;
    }
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i)
      if (weights_[i] != 0) weights_[i] = tree_.nodes[i].self;
    for (std::size_t i = tree_.nodes.size(); i-- > 1;) weights_[tree_.nodes[i].parent] += weights_[i];
  }

  const CallTree& tree_;
  std::vector<Function> functions_;
  std::vector<std::uint32_t> function_of_;  // by node
  std::vector<std::int64_t> weights_;       // by node, with what is below it
  std::vector<std::int64_t> whole_;         // by function: samples that have it
  std::vector<char> calls_a_subject_;       // by function: of most samples of an earlier subject
};

}  // namespace

std::vector<HotSubject> find_subjects(const CallTree& tree,
                                      const std::function<CodeFact(const TreeNode&)>& code_of,
                                      std::size_t most) {
  if (tree.total <= 0) return {};
  return SubjectFinder(tree, code_of).find(most);
}

}  // namespace fathom::analysis
