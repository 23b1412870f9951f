#include "analysis/summary/hot_subject.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "analysis/summary/named_calls.h"
#include "base/flat_map.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

constexpr double kOfLargest = 0.25;  // a call that accounts for less of the widest function is not followed
constexpr double kLargePart = 0.25;  // of all samples: followed if it and its siblings have so much
constexpr double kMostOfCaller = 0.66;  // of its caller's
constexpr double kSameTime = 0.9;       // of its caller: one chain of calls
constexpr double kMostOfLeaf = 0.66;  // of a leaf's samples come through the code that is named in its place
constexpr double kOnlyPasses = 0.9;   // of a function's time goes from one that starts everything to another
constexpr double kHalf = 0.5;         // of that code's samples end in the leaf
constexpr double kExplained =
    0.75;  // of a caller: by its largest callees together, which then stand in its place
constexpr double kOwnPreferred = 1.5;  // own code counts for so much more than other code
constexpr double kMuchMore =
    2;  // than the named subjects together: code without names of a library is the answer

// The three kinds of code of which a subject is searched apart from the others.
enum class CodeClass : std::uint8_t { kOwn, kStart, kOther };
CodeClass class_of(CodeRank rank) {
  return rank == CodeRank::kOwn     ? CodeClass::kOwn
         : rank == CodeRank::kStart ? CodeClass::kStart
                                    : CodeClass::kOther;
}

struct NamedFunction {
  std::uint32_t name, module;
  NodeKind kind;
  CodeRank rank;
  bool grouped;
  int work;
};

constexpr std::uint32_t kProgram = kNoFunction - 1;

// The functions of a tree with a name and a rank, in the order in which they are met.
struct Functions {
  std::vector<NamedFunction> all;
  std::vector<std::uint32_t> of_node;  // kNoFunction: none of them
  // By node: its module, where it is code without names of a library; kProgram for such code of the program. Empty where no library has
  // such code.
  std::vector<std::uint32_t> nameless_of;

  Functions(const CallTree& tree, const std::function<CodeFact(const TreeNode&)>& code_of)
      : of_node(tree.nodes.size(), kNoFunction) {
    FlatMap<std::uint32_t> names;                   // by name and module: function + 2; 1: none
    std::map<std::uint32_t, std::uint32_t> groups;  // by module
    enum class Whose : char { kOther, kLibrary, kProgram };
    std::vector<Whose> whose(tree.names.size());
    bool has_nameless = false;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      if (node.kind != NodeKind::kUser && node.kind != NodeKind::kInlined && node.kind != NodeKind::kKernel)
        continue;
      std::uint32_t& known = names[std::uint64_t{node.module} << 32 | node.name];
      if (known == 0) {
        known = 1;
        const CodeFact code = code_of(node);
        if (code.rank == CodeRank::kNone) {
          if (code.grouped || code.of_program)
            whose[node.name] = code.grouped ? Whose::kLibrary : Whose::kProgram;
          has_nameless |= code.grouped;
        } else {
          const auto next = static_cast<std::uint32_t>(all.size());
          const std::uint32_t function =
              code.grouped ? groups.try_emplace(node.module, next).first->second : next;
          known = function + 2;
          if (function == next)
            all.push_back({node.name, node.module, node.kind, code.rank, code.grouped, code.work});
        }
      }
      if (known != 1) of_node[i] = known - 2;
    }
    if (has_nameless) {
      nameless_of.resize(tree.nodes.size(), kNoFunction);
      for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
        const TreeNode& node = tree.nodes[i];
        if (node.kind == NodeKind::kThread || node.kind == NodeKind::kKernel) continue;
        if (whose[node.name] == Whose::kProgram)
          nameless_of[i] = kProgram;
        else if (whose[node.name] == Whose::kLibrary)
          nameless_of[i] = node.module;
      }
    }
    find_stepping_stones(tree);
  }

 private:
  // A function that an interpreter or a loop calls only to enter itself again is a part of it, whatever its name, and so are those
  // between two such calls: the list of those names is never complete. main alone starts the program and is no loop: what it calls
  // is an answer, unless a library does so to start an interpreter, as in each thread of Ruby.
  void find_stepping_stones(const CallTree& tree) {
    struct Sums {
      std::int64_t total = 0, passed = 0;
    };
    std::vector<Sums> sums(all.size());
    const auto starts = [&](std::size_t node) {
      return of_node[node] != kNoFunction && all[of_node[node]].rank == CodeRank::kStart;
    };
    constexpr std::size_t kMainAndLoop = 2;
    std::vector<std::size_t> above, started;  // by depth: the node, and how many down to it start everything
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      above.resize(std::min<std::size_t>(above.size(), node.depth));
      started.resize(above.size());
      if (of_node[i] != kNoFunction) sums[of_node[i]].total += node.total;
      if (starts(i)) {
        const bool is_loop = !started.empty() && started.back() >= kMainAndLoop;
        for (std::size_t depth = above.size(); depth-- > 0 && !starts(above[depth]);)
          if (const std::uint32_t caller = of_node[above[depth]];
              caller != kNoFunction && (is_loop || all[caller].rank == CodeRank::kLibrary))
            sums[caller].passed += node.total;
      }
      started.push_back((started.empty() ? 0 : started.back()) + (starts(i) ? 1 : 0));
      above.push_back(i);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].rank >= CodeRank::kStart && sums[i].passed > 0 &&
          static_cast<double>(sums[i].passed) >= kOnlyPasses * static_cast<double>(sums[i].total))
        all[i].rank = CodeRank::kStart;
  }
};

std::vector<std::uint8_t> classes_of(const std::vector<NamedFunction>& functions) {
  std::vector<std::uint8_t> classes;
  for (const NamedFunction& function : functions)
    classes.push_back(static_cast<std::uint8_t>(class_of(function.rank)));
  return classes;
}

class SubjectFinder {
 public:
  SubjectFinder(const CallTree& tree, Functions functions)
      : tree_(tree),
        functions_(std::move(functions.all)),
        nameless_of_(std::move(functions.nameless_of)),
        calls_(tree, std::move(functions.of_node), classes_of(functions_)),
        is_dead_end_(functions_.size()),
        calls_a_subject_(functions_.size()) {
    // No rule asks for less: half of the samples of a subject, which has the share of a further one.
    calls_.keep(kHalf * kFurtherShare * static_cast<double>(tree.total) - 1);
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
    if (!subjects.empty()) {
      double named = 0;
      for (const HotSubject& subject : subjects) named += static_cast<double>(subject.total);
      if (const auto nameless = nameless_subject(kMuchMore * named)) return {*nameless, subjects.front()};
    }
    if (subjects.size() < most)
      if (const auto itself = caller_itself()) subjects.push_back(*itself);
    return subjects;
  }

 private:
  std::uint32_t row_of(const HotSubject& subject) const {
    for (std::uint32_t i = 0; i < functions_.size(); ++i)
      if (functions_[i].name == subject.name && functions_[i].module == subject.module) return i;
    return kNoFunction;
  }

  // Code that the program generates is the user's, too.
  static bool is_of_program(const HotSubject& subject) {
    return subject.rank == CodeRank::kOwn || (subject.grouped && subject.rank == CodeRank::kLibrary);
  }

  // The largest first: a search that goes down may have found the second largest before. The program's code stays before other
  // code.
  void order(std::vector<HotSubject>& subjects) {
    if (subjects.size() < 2) return;
    calls_.include_all();
    whole_ = calls_.below(kNoFunction).total;
    stable_sort_rows(subjects, [&](const HotSubject& a, const HotSubject& b) {
      if (is_of_program(a) != is_of_program(b)) return false;
      return whole_[row_of(a)] > whole_[row_of(b)];
    });
    for (HotSubject& subject : subjects) {
      const std::uint32_t row = row_of(subject);
      subject.total = calls_.below(kNoFunction).total[row];
      exclude(row);
    }
  }

  // Of the functions that call a subject: the one that spends most without that, if it is worth a word.
  std::optional<HotSubject> caller_itself() const {
    std::optional<HotSubject> most;
    const std::vector<std::int64_t> selves = calls_.selves();
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

  double mean_depth(const NamedCalls::Below& sums, std::uint32_t function) const {
    return sums.depth[function] / static_cast<double>(std::max<std::int64_t>(1, sums.total[function]));
  }

  // Below `from`: the deepest that takes nearly all of it, else the one that takes most; none below `least`.
  std::uint32_t next_down(std::uint32_t from, const NamedCalls::Below& sums, std::int64_t of,
                          std::int64_t least, CodeClass of_class) const {
    std::uint32_t most = kNoFunction, chained = kNoFunction;
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
      if (i == from || is_dead_end_[i] != 0 || class_of(functions_[i].rank) != of_class ||
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
  double covered(std::uint32_t from) const {
    std::vector<std::int64_t> calls = calls_.callees_of(from);
    constexpr std::size_t kNamed = 3;
    std::ranges::sort(calls, std::ranges::greater());
    double sum = 0;
    for (std::size_t i = 0; i < std::min(kNamed, calls.size()); ++i)
      if (static_cast<double>(calls[i]) >= kFurtherShare * static_cast<double>(tree_.total))
        sum += static_cast<double>(calls[i]);
    return sum;
  }

  // The deepest function of a class which accounts for `least`, and for a quarter of the widest of them.
  std::uint32_t deepest(std::int64_t least, CodeClass of_class) const {
    std::uint32_t at = next_down(kNoFunction, calls_.below(kNoFunction), INT64_MAX, least, of_class);
    if (at == kNoFunction) return at;
    least = std::max(least, static_cast<std::int64_t>(kOfLargest * static_cast<double>(whole_[at])));
    for (std::size_t steps = 0; steps < functions_.size(); ++steps) {
      const NamedCalls::Below sums = calls_.below(at);
      const std::uint32_t next = next_down(at, sums, whole_[at], least, of_class);
      if (next == kNoFunction || (calls_a_subject_[at] == 0 && sums.self >= sums.total[next])) break;
      if (functions_[at].work != 0 && functions_[at].work == functions_[next].work) break;
      const auto part = static_cast<double>(sums.total[next]);
      const auto all = static_cast<double>(whole_[at]);
      // A caller whose time is split into small parts is the better answer, unless a part was already
      // reported.
      if (calls_a_subject_[at] == 0 && part < kMostOfCaller * all &&
          (part < kLargePart * static_cast<double>(tree_.total) || covered(at) < kExplained * all))
        break;
      at = next;
    }
    return at;
  }

  // The code of a higher rank, nearest above `leaf`, that spends most of its time there.
  std::uint32_t employer_of(std::uint32_t leaf) const {
    const std::vector<std::int64_t> above = calls_.callers_of(leaf);
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

  // A framework that calls the program's handlers: what it takes is explained by them.
  bool only_calls_own_code(std::uint32_t other) const {
    const auto own = calls_.below_of_class(other, static_cast<std::uint8_t>(CodeClass::kOwn));
    return static_cast<double>(own) >= kMostOfCaller * static_cast<double>(whole_[other]);
  }

  // Neither this function nor the other code that calls it is an answer.
  void pass_over(std::uint32_t other) {
    const std::vector<std::int64_t> above = calls_.callers_of(other);
    is_dead_end_[other] = 1;
    for (std::uint32_t i = 0; i < functions_.size(); ++i)
      if (class_of(functions_[i].rank) == CodeClass::kOther &&
          static_cast<double>(above[i]) >= kMostOfCaller * static_cast<double>(whole_[i]))
        is_dead_end_[i] = 1;
  }

  // Own code or other code: own code, unless other code that it does not call takes much more.
  std::uint32_t choose(std::int64_t least) {
    const std::uint32_t own = deepest(least, CodeClass::kOwn);
    std::uint32_t leaf = deepest(least, CodeClass::kOther);
    while (leaf != kNoFunction && own != kNoFunction && only_calls_own_code(leaf)) {
      pass_over(leaf);
      leaf = deepest(least, CodeClass::kOther);
    }
    if (leaf == kNoFunction) return own;
    const std::uint32_t other = employer_of(leaf);
    if (own == kNoFunction || other == own) return other;
    const auto by_own = static_cast<double>(calls_.callers_of(leaf)[own]);
    if (by_own >= kMostOfLeaf * static_cast<double>(whole_[leaf])) return own;
    return kOwnPreferred * static_cast<double>(whole_[own]) >= static_cast<double>(whole_[other]) ? own
                                                                                                  : other;
  }

  HotSubject subject_of(std::uint32_t function) const {
    const NamedFunction& of = functions_[function];
    return {of.name, of.module, of.kind, of.rank, whole_[function], of.grouped};
  }

  // All code without names of one library, with what it calls until such code of the program runs again: a loop of events without names
  // runs the whole server.
  std::optional<HotSubject> nameless_subject(double least) const {
    if (nameless_of_.empty()) return std::nullopt;
    std::map<std::uint32_t, HotSubject> by_module;
    std::vector<std::uint32_t> open;  // by depth: whose code runs
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      const TreeNode& node = tree_.nodes[i];
      open.resize(std::min<std::size_t>(open.size(), node.depth));
      const std::uint32_t above = open.empty() ? kNoFunction : open.back();
      const std::uint32_t module = nameless_of_[i] == kNoFunction ? above : nameless_of_[i];
      open.push_back(module);
      if (module == kNoFunction || module == kProgram || node.self <= 0) continue;
      HotSubject& subject = by_module[module];
      if (subject.total == 0) subject = {.module = module, .grouped = true};
      if (nameless_of_[i] == module || subject.name == 0) {
        subject.name = node.name;
        subject.kind = node.kind;
      }
      subject.total += node.self;
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
    whole_ = calls_.below(kNoFunction).total;
    constexpr int kMostTries = 32;
    for (int i = 0; i < kMostTries; ++i) {
      const std::uint32_t found = choose(least);
      if (found == kNoFunction) break;
      if (calls_a_subject_[found] != 0) {  // its other callees are too small: the search continues next to it
        is_dead_end_[found] = 1;
        continue;
      }
      return subject_of(found);
    }
    if (!is_first) return std::nullopt;
    if (const auto nameless = nameless_subject(static_cast<double>(least))) return nameless;
    const std::uint32_t start = deepest(least, CodeClass::kStart);
    if (start != kNoFunction && calls_.selves()[start] >= least) return subject_of(start);
    look_at_small_functions();
    const std::uint32_t widest = choose(1);
    if (widest == kNoFunction) return start == kNoFunction ? std::nullopt : std::optional(subject_of(start));
    HotSubject subject = subject_of(widest);
    subject.spread = true;
    return subject;
  }

  // Of a program in which no function has its share: a quarter of the widest one's does. If thousands are as wide as that, none
  // of them stands out, and the calls of all would be a second copy of a tree of millions of calls.
  void look_at_small_functions() {
    constexpr std::size_t kMostFunctions = 256;
    double least = static_cast<double>(tree_.total);
    for (const CodeClass each : {CodeClass::kOwn, CodeClass::kOther}) {
      std::int64_t widest = 0;
      for (std::uint32_t i = 0; i < functions_.size(); ++i)
        if (class_of(functions_[i].rank) == each && is_dead_end_[i] == 0)
          widest = std::max(widest, calls_.whole()[i]);
      if (widest > 0) least = std::min(least, static_cast<double>(widest));
    }
    least = kHalf * kOfLargest * least - 1;
    if (std::vector<std::int64_t> widest = calls_.whole(); widest.size() > kMostFunctions) {
      const auto last = widest.begin() + kMostFunctions - 1;
      std::ranges::nth_element(widest, last, std::greater<>());
      least = std::max(least, static_cast<double>(*last));
    }
    calls_.keep(least);
    whole_ = calls_.below(kNoFunction).total;
  }

  // Removes reported subjects from the sums: samples of the function, anywhere on the stack.
  void exclude(std::uint32_t function) {
    const std::vector<std::int64_t> above = calls_.callers_of(function);
    for (std::uint32_t i = 0; i < functions_.size(); ++i)
      if (static_cast<double>(above[i]) >= kHalf * static_cast<double>(whole_[function]))
        calls_a_subject_[i] = 1;
    calls_.exclude(function);
  }

  const CallTree& tree_;
  std::vector<NamedFunction> functions_;
  std::vector<std::uint32_t> nameless_of_;
  NamedCalls calls_;
  std::vector<std::int64_t> whole_;    // by function: samples that have it
  std::vector<char> is_dead_end_;      // by function: the search need not stop there again
  std::vector<char> calls_a_subject_;  // by function: of most samples of an earlier subject
};

}  // namespace

std::vector<HotSubject> find_subjects(const CallTree& tree,
                                      const std::function<CodeFact(const TreeNode&)>& code_of,
                                      std::size_t most) {
  if (tree.total <= 0) return {};
  return SubjectFinder(tree, Functions(tree, code_of)).find(most);
}

}  // namespace fathom::analysis
