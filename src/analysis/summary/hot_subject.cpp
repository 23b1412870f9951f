#include "analysis/summary/hot_subject.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/flat_map.h"

namespace fathom::analysis {
namespace {

constexpr std::uint32_t kNoFunction = UINT32_MAX;
constexpr double kOfLargest = 0.25;  // a call that accounts for less of the widest function is not followed
constexpr double kLargePart = 0.25;  // of all samples: followed if it and its siblings have so much
constexpr double kMostOfCaller = 0.66;  // of its caller's
constexpr double kSameTime = 0.9;       // of its caller: one chain of calls
constexpr double kMostOfLeaf = 0.66;  // of a leaf's samples come through the code that is named in its place
constexpr double kHalf = 0.5;         // of that code's samples end in the leaf
constexpr double kExplained =
    0.75;  // of a caller: by its largest callees together, which then stand in its place
constexpr double kOwnPreferred = 1.5;  // own code counts for so much more than other code
constexpr double kMuchMore = 2;        // than a named function: code without names of a library is the answer

class SubjectFinder {
 public:
  SubjectFinder(const CallTree& tree, const std::function<CodeFact(const TreeNode&)>& code_of)
      : tree_(tree), steps_(tree.nodes.size()) {
    FlatMap<std::uint32_t> names;                   // by name and module: function + 2; 1: none
    std::map<std::uint32_t, std::uint32_t> groups;  // by module
    std::vector<char> nameless(tree.names.size());
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      steps_[i].depth = node.depth;
      if (node.kind != NodeKind::kUser && node.kind != NodeKind::kInlined && node.kind != NodeKind::kKernel)
        continue;
      std::uint32_t& known = names[std::uint64_t{node.module} << 32 | node.name];
      if (known == 0) {
        known = 1;
        const CodeFact code = code_of(node);
        if (code.rank == CodeRank::kNone) {
          if (code.grouped) nameless[node.name] = 1;
        } else {
          const auto next = static_cast<std::uint32_t>(functions_.size());
          const std::uint32_t function =
              code.grouped ? groups.try_emplace(node.module, next).first->second : next;
          known = function + 2;
          if (function == next)
            functions_.push_back({node.name, node.module, node.kind, code.rank, code.grouped, code.work});
        }
      }
      if (known != 1) {
        steps_[i].function = known - 2;
      } else if (nameless[node.name] != 0) {
        nameless_of_.resize(tree.nodes.size(), kNoFunction);
        nameless_of_[i] = node.module;
      }
    }
    calls_a_subject_.resize(functions_.size());
    is_dead_end_.resize(functions_.size());
    weights_.reserve(tree.nodes.size());
    for (const TreeNode& node : tree.nodes) weights_.push_back(node.total);
  }

  std::vector<HotSubject> find(std::size_t most) {
    std::vector<HotSubject> subjects;
    while (subjects.size() < most) {
      const auto subject = next_subject(subjects.empty());
      if (!subject) break;
      subjects.push_back(*subject);
      if (subject->spread || subject->rank == CodeRank::kNone) return subjects;
      exclude(row_of(*subject));
    }
    order(subjects);
    if (subjects.size() < most)
      if (const auto itself = caller_itself()) subjects.push_back(*itself);
    return subjects;
  }

 private:
  struct Function {
    std::uint32_t name, module;
    NodeKind kind;
    CodeRank rank;
    bool grouped;
    int work;
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

  // The largest first: a search that goes down may have found the second largest before. Own code stays before other code.
  void order(std::vector<HotSubject>& subjects) {
    if (subjects.size() < 2) return;
    const auto reset = [&] {
      for (std::size_t i = 0; i < tree_.nodes.size(); ++i) weights_[i] = tree_.nodes[i].total;
    };
    reset();
    whole_ = below(kNoFunction).total;
    std::ranges::stable_sort(subjects, [&](const HotSubject& a, const HotSubject& b) {
      if ((a.rank == CodeRank::kOwn) != (b.rank == CodeRank::kOwn)) return false;
      return whole_[row_of(a)] > whole_[row_of(b)];
    });
    for (HotSubject& subject : subjects) {
      const std::uint32_t row = row_of(subject);
      subject.total = below(kNoFunction).total[row];
      exclude(row);
    }
  }

  // Of the functions that call a subject: the one that spends most without that, if it is worth a word.
  std::optional<HotSubject> caller_itself() const {
    std::optional<HotSubject> most;
    const std::vector<std::int64_t> selves = this->selves();
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
      if (calls_a_subject_[i] == 0 || functions_[i].rank <= CodeRank::kStart) continue;
      HotSubject subject = subject_of(i);
      subject.itself = true;
      subject.total = selves[i];
      if (static_cast<double>(subject.total) >= kFurtherShare * static_cast<double>(tree_.total) &&
          (!most || subject.total > most->total))
        most = subject;
    }
    return most;
  }

  // Visits nodes depth first with the functions that are open above each; `enter` gets the node and whether its function
  // is open for the first time.
  template <class Enter>
  void walk(Enter enter) const {
    std::vector<std::uint32_t> open_count(functions_.size());
    std::vector<std::uint32_t> path;  // function of each depth
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto [depth, function] = steps_[i];
      if (weights_[i] == 0) continue;
      for (; path.size() > depth; path.pop_back())
        if (path.back() != kNoFunction) --open_count[path.back()];
      path.resize(depth,
                  kNoFunction);  // where a caller is worth nothing: what it calls is, and less than that
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
        sums.depth[function] += static_cast<double>(weights_[i]) * steps_[i].depth;
      }
    });
    if (from != kNoFunction) sums.self = selves()[from];
    return sums;
  }

  // By function: samples of which it is the deepest one with a name: its own instructions, and what has no name below it.
  std::vector<std::int64_t> selves() const {
    std::vector<std::int64_t> selves(functions_.size());
    std::vector<std::uint32_t> nearest;  // at each depth
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto [depth, function] = steps_[i];
      nearest.resize(depth);
      nearest.push_back(function != kNoFunction || depth == 0 ? function : nearest.back());
      if (nearest.back() != kNoFunction) selves[nearest.back()] += excluded_self(i);
    }
    return selves;
  }
  std::int64_t excluded_self(std::size_t node) const {
    return weights_[node] <= 0 ? 0 : std::max<std::int64_t>(0, tree_.nodes[node].self);
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
      if (i == from || is_dead_end_[i] != 0 || !takes(functions_[i].rank) ||
          sums.total[i] < std::max<std::int64_t>(1, least))
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

  // Of the samples of `from`: those of its largest callees, as many as a sentence names, each large enough to be named.
  template <class Takes>
  double covered(std::uint32_t from, Takes takes) const {
    std::vector<std::int64_t> calls(functions_.size());
    walk([&](std::size_t i, std::uint32_t function, bool is_first, const auto& open_count, const auto& path) {
      if (!is_first || function == from || open_count[from] == 0 || !takes(functions_[function].rank)) return;
      for (std::size_t at = path.size(); at-- > 0;) {
        const std::uint32_t each = path[at];
        if (each == kNoFunction || !takes(functions_[each].rank)) continue;
        if (each == from) calls[function] += weights_[i];
        return;
      }
    });
    constexpr std::size_t kNamed = 3;
    std::ranges::sort(calls, std::ranges::greater());
    double sum = 0;
    for (std::size_t i = 0; i < std::min(kNamed, calls.size()); ++i)
      if (static_cast<double>(calls[i]) >= kFurtherShare * static_cast<double>(tree_.total))
        sum += static_cast<double>(calls[i]);
    return sum;
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
      if (next == kNoFunction || (calls_a_subject_[at] == 0 && sums.self >= sums.total[next])) break;
      if (functions_[at].work != 0 && functions_[at].work == functions_[next].work) break;
      const auto part = static_cast<double>(sums.total[next]);
      const auto all = static_cast<double>(whole_[at]);
      // A caller whose time is split into small parts is the better answer, unless a part was already
      // reported.
      if (calls_a_subject_[at] == 0 && part < kMostOfCaller * all &&
          (part < kLargePart * static_cast<double>(tree_.total) || covered(at, takes) < kExplained * all))
        break;
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

  // All code without names of one library.
  std::optional<HotSubject> nameless_subject(double least) const {
    if (nameless_of_.empty()) return std::nullopt;
    std::map<std::uint32_t, HotSubject> by_module;
    std::vector<std::uint32_t> open;  // module of each depth
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      const TreeNode& node = tree_.nodes[i];
      open.resize(std::min<std::size_t>(open.size(), node.depth));
      const std::uint32_t module = nameless_of_[i];
      if (module != kNoFunction && std::ranges::find(open, module) == open.end()) {
        HotSubject& subject = by_module[module];
        if (subject.total == 0)
          subject = {.name = node.name, .module = module, .kind = node.kind, .grouped = true};
        subject.total += weights_[i];
      }
      open.push_back(module);
    }
    std::optional<HotSubject> most;
    for (const auto& [module, subject] : by_module)
      if (static_cast<double>(subject.total) >= least && (!most || subject.total > most->total))
        most = subject;
    return most;
  }

  std::optional<HotSubject> next_subject(bool is_first) {
    const auto least = static_cast<std::int64_t>((is_first ? kSubjectShare : kFurtherShare) *
                                                 static_cast<double>(tree_.total));
    whole_ = below(kNoFunction).total;
    constexpr int kMostTries = 32;
    for (int i = 0; i < kMostTries; ++i) {
      const std::uint32_t found = choose(least);
      if (found == kNoFunction) break;
      if (calls_a_subject_[found] != 0) {  // its other callees are too small: the search continues next to it
        is_dead_end_[found] = 1;
        continue;
      }
      const HotSubject subject = subject_of(found);
      if (!is_first) return subject;
      const auto nameless = nameless_subject(kMuchMore * static_cast<double>(subject.total));
      return nameless ? *nameless : subject;
    }
    if (!is_first) return std::nullopt;
    if (const auto nameless = nameless_subject(static_cast<double>(least))) return nameless;
    const std::uint32_t start = deepest(least, [](CodeRank rank) { return rank == CodeRank::kStart; });
    if (start != kNoFunction && selves()[start] >= least) return subject_of(start);
    const std::uint32_t widest = choose(1);
    if (widest == kNoFunction) return start == kNoFunction ? std::nullopt : std::optional(subject_of(start));
    HotSubject subject = subject_of(widest);
    subject.spread = true;
    return subject;
  }

  // Removes reported subjects from the sums: samples of the function, anywhere on the stack.
  void exclude(std::uint32_t function) {
    const std::vector<std::int64_t> above = callers_of(function);
    for (std::uint32_t i = 0; i < functions_.size(); ++i)
      if (static_cast<double>(above[i]) >= kHalf * static_cast<double>(whole_[function]))
        calls_a_subject_[i] = 1;
    constexpr std::uint32_t kNowhere = UINT32_MAX;
    std::uint32_t inside = kNowhere;  // the depth of the outermost call of it that the walk is in
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].depth <= inside) inside = steps_[i].function == function ? steps_[i].depth : kNowhere;
      if (inside != kNowhere)
        weights_[i] = 0;
      else if (weights_[i] != 0)
        weights_[i] = tree_.nodes[i].self;
    }
    for (std::size_t i = tree_.nodes.size(); i-- > 1;) weights_[tree_.nodes[i].parent] += weights_[i];
  }

  // What a walk looks at of a node, of which there are millions.
  struct Step {
    std::uint32_t depth = 0;
    std::uint32_t function = kNoFunction;
  };
  const CallTree& tree_;
  std::vector<Function> functions_;
  std::vector<Step> steps_;  // by node
  // By node: its module, where it is code without names of a library. Empty where none is.
  std::vector<std::uint32_t> nameless_of_;
  std::vector<std::int64_t> weights_;  // by node, with what is below it
  std::vector<std::int64_t> whole_;    // by function: samples that have it
  std::vector<char> is_dead_end_;      // by function: the search need not stop there again
  std::vector<char> calls_a_subject_;  // by function: of most samples of an earlier subject
};

}  // namespace

std::vector<HotSubject> find_subjects(const CallTree& tree,
                                      const std::function<CodeFact(const TreeNode&)>& code_of,
                                      std::size_t most) {
  if (tree.total <= 0) return {};
  return SubjectFinder(tree, code_of).find(most);
}

}  // namespace fathom::analysis
