#include "analysis/summary/hot_spot.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "analysis/core/common_costs.h"
#include "analysis/core/functions.h"
#include "analysis/core/runtimes.h"
#include "base/flat_map.h"
#include "base/stable_sort.h"
#include "base/text.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr double kLeastShare = 0.1;  // of all: a narrower call is no part of the path

// What the kernel was asked for: its outermost function that says it.
bool names_kernel_work(std::string_view name) {
  for (const std::string_view prefix : {"__x64_sys_", "__arm64_sys_", "ksys_", "__do_sys_", "__se_sys_"})
    if (name.starts_with(prefix)) return true;
  return name == "asm_exc_page_fault" || name == "exc_page_fault";
}

// On the way to such a function.
bool passes_to_kernel_work(std::string_view name) {
  return name.starts_with("entry_SYSCALL_64") || name == "do_syscall_64" || name == "x64_sys_call" ||
         name == "el0t_64_sync" || name == "el0_svc" || name == "invoke_syscall";
}

class Finder {
 public:
  Finder(const Profile& profile, const Selection& selection, const CallTree& tree)
      : profile_(profile),
        tree_(tree),
        weights_(weights_of(profile, selection)),
        sources_(profile, weights_),
        programs_(tree.modules.size()) {}

  HotPath find(std::size_t most) {
    HotPath path;
    std::vector<char> is_of_own(tree_.nodes.size());  // or was linked in and is called by it
    for (std::size_t i = 1; i < tree_.nodes.size(); ++i) {
      const TreeNode& node = tree_.nodes[i];
      if (!is_user(node)) continue;
      const Code& of = code(node);
      is_of_own[i] = of.is_own || (of.is_linked && is_of_own[node.parent] != 0) ? 1 : 0;
      if (node.self <= 0 || is_of_own[i] == 0) continue;
      path.own_self += node.self;
      path.own_self_of[tree_.modules[node.module].name] += node.self;
    }
    const auto subjects = find_subjects(tree_, [&](const TreeNode& node) { return code_of(node); });
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      const HotSubject& subject = subjects[i];
      if (i == 0)
        path.spot = spot_of(subject);
      else
        path.others.push_back({name_of(subject), module_of(subject), subject.rank, subject.grouped,
                               subject.itself, subject.total,
                               own_caller_of(subject, std::span(subjects).first(i))});
    }
    path.frames = widest_chain(most);
    return path;
  }

 private:
  static std::vector<std::int64_t> weights_of(const Profile& profile, const Selection& selection) {
    std::vector<std::int64_t> leaves(profile.stacks.size());
    const Filter filter(profile, selection);
    ValueBudget budget;
    for (const Sample& sample : profile.all_samples())
      if (filter.concerns(sample) && filter.takes(sample))
        leaves[sample.stack.value] += budget.take(sample.value);
    return frame_weights_of(profile, leaves);
  }

  CodeFact code_of(const TreeNode& node) const {
    const std::string& name = tree_.name(node);
    const TreeModule& module = tree_.modules[node.module];
    if (node.kind == NodeKind::kKernel)
      return {names_kernel_work(name) ? CodeRank::kKernel : CodeRank::kNone};
    const RuntimeRules& runtimes = built_in_runtime_rules();
    if (is_unnamed(name)) {
      if (module.kind == ModuleKind::kAnonymous) return {CodeRank::kLibrary, true};
      // All of a program is in the program: only of a library is it news.
      if (!knows_programs() || module.kind != ModuleKind::kFile || runtimes.has_module(module.name))
        return {};
      const bool of_program = is_program(node.module);
      return {CodeRank::kNone, !of_program, 0, of_program};
    }
    if (runtimes.begins(name)) return {};
    if (runtimes.starts(name)) return {CodeRank::kStart};
    if (is_linked(node) && belongs_to_callers(node)) return {};
    const int work = work_of(name);
    if (is_own(node)) return {CodeRank::kOwn, false, work};
    return {runtimes.has_module(module.name) || module.kind == ModuleKind::kVdso ||
                    runtimes.has_function(name) || is_linked(node)
                ? CodeRank::kPlumbing
                : CodeRank::kLibrary,
            false, work};
  }

  std::string name_of(const HotSubject& subject) const {
    return subject.grouped ? "" : tree_.names[subject.name];
  }
  bool knows_programs() const {
    return std::ranges::any_of(profile_.processes, [&](const Process& process) {
      return !profile_.strings[process.executable].empty();
    });
  }

  // Of most samples of a function that was linked in, code with a name of its own calls it.
  bool belongs_to_callers(const TreeNode& function) const {
    if (!knows_callers_) add_up_callers();
    const Callers& callers = callers_[function_key(function)];
    return callers.called * 2 >= callers.all;
  }
  // One visit per node for all such functions, of which a large program has thousands.
  void add_up_callers() const {
    knows_callers_ = true;
    for (const TreeNode& node : tree_.nodes) {
      if (node.self <= 0 || !is_linked(node)) continue;
      Callers& callers = callers_[function_key(node)];
      callers.all += node.self;
      for (std::uint32_t at = node.parent; at != 0; at = tree_.nodes[at].parent) {
        const TreeNode& above = tree_.nodes[at];
        if (above.kind == NodeKind::kThread || above.kind == NodeKind::kKernel || code(above).is_plain ||
            is_linked(above))
          continue;
        callers.called += node.self;
        break;
      }
    }
  }

  int work_of(std::string_view name) const {
    const auto cost = common_cost(name);
    return cost ? works_.try_emplace(*cost, static_cast<int>(works_.size()) + 1).first->second : 0;
  }

  // Empty: that of a program, whose name the headline has.
  std::string module_of(const HotSubject& subject) const {
    return is_program(subject.module) ? "" : tree_.modules[subject.module].name;
  }
  bool is_program(std::uint32_t of) const {
    char& known = programs_[of];
    if (known == 0) {
      const TreeModule& module = tree_.modules[of];
      known = 1 + static_cast<char>(std::ranges::any_of(profile_.processes, [&](const Process& process) {
                return !module.path.empty() && profile_.strings[process.executable] == module.path;
              }));
    }
    return known > 1;
  }

  bool is_of(const HotSubject& subject, const TreeNode& node) const {
    return node.module == subject.module && node.kind != NodeKind::kThread &&
           (subject.grouped ? is_unnamed(tree_.name(node)) : node.name == subject.name);
  }

  // A call of it that counts by itself; and below code without names of a library, the program's code, whose time is no part of it.
  bool ends(const HotSubject& subject, const TreeNode& node) const {
    if (is_of(subject, node)) return true;
    return subject.grouped && subject.rank == CodeRank::kNone && is_user(node) &&
           is_unnamed(tree_.name(node)) && knows_programs() && is_program(node.module);
  }

  HotSpot spot_of(const HotSubject& subject) const {
    HotSpot spot;
    spot.name = name_of(subject);
    spot.module = module_of(subject);
    spot.rank = subject.rank;
    spot.spread = subject.spread;
    spot.grouped = subject.grouped;
    spot.own_caller = own_caller_of(subject, {});
    spot.place = place_of(subject);
    spot.total = subject.total;
    spot.parts = parts_of(subject);
    return spot;
  }

  // By module and name: other modules may have functions of the same name.
  SourcePlace place_of(const HotSubject& subject) const {
    if (subject.grouped) return {};
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> lines;
    for (std::uint32_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] <= 0) continue;
      const Frame& frame = profile_.frames[i];
      if (profile_.strings[profile_.modules[frame.module.value].name] != tree_.modules[subject.module].name)
        continue;
      for (std::uint32_t at = 0; at < frame.line_count; ++at) {
        const Line& line = profile_.lines[frame.first_line + at];
        if (profile_.strings[profile_.functions[line.function.value].name] == tree_.names[subject.name])
          lines[{line.file.value, line.line}] += weights_[i];
      }
    }
    const auto most = std::max_element(lines.begin(), lines.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == lines.end()) return {};
    return {std::string(base_name(profile_.strings[StringId{most->first.first}])), most->first.second};
  }

  // Calls of the innermost of its frames; its own recursion is no part.
  std::vector<HotPart> parts_of(const HotSubject& subject) const {
    std::map<std::string, std::int64_t> sums;
    for (std::uint32_t i = 0; i < tree_.nodes.size(); ++i)
      if (is_of(subject, tree_.nodes[i])) {
        sums[""] += tree_.nodes[i].self;
        for (const std::uint32_t child : children_of(i)) add_part(subject, child, sums);
      }
    std::vector<HotPart> parts;
    for (const auto& [name, value] : sums)
      if (value > 0) parts.push_back({name, value});
    stable_sort_rows(parts.begin(), parts.end(),
                     [](const HotPart& a, const HotPart& b) { return a.value > b.value; });
    return parts;
  }

  // What is below `node` without the subject's own recursion, by the outermost name.
  void add_part(const HotSubject& subject, std::uint32_t node,
                std::map<std::string, std::int64_t>& sums) const {
    const TreeNode& at = tree_.nodes[node];
    if (ends(subject, at)) return;
    const std::string& name = tree_.name(at);
    const bool passes = at.kind == NodeKind::kKernel
                            ? passes_to_kernel_work(name)
                            : is_unnamed(name) || built_in_runtime_rules().begins(name);
    if (!passes || tree_.first_child(node) == kNoNode) {
      sums[name] += at.total - below(subject, node);
      return;
    }
    if (at.self > 0) sums[name] += at.self;
    for (const std::uint32_t child : children_of(node)) add_part(subject, child, sums);
  }

  // Samples below `node`, which is none of the subject's frames, that are not its part.
  std::int64_t below(const HotSubject& subject, std::uint32_t node) const {
    std::int64_t sum = 0;
    for (std::uint32_t i = node + 1;
         i < tree_.nodes.size() && tree_.nodes[i].depth > tree_.nodes[node].depth;) {
      if (!ends(subject, tree_.nodes[i])) {
        ++i;
        continue;
      }
      sum += tree_.nodes[i].total;
      const std::uint32_t depth = tree_.nodes[i].depth;
      for (++i; i < tree_.nodes.size() && tree_.nodes[i].depth > depth;) ++i;
    }
    return sum;
  }

  // Of most of its samples without the subjects before it: where its name alone says little, or is of other code.
  std::string own_caller_of(const HotSubject& subject, std::span<const HotSubject> before) const {
    std::map<std::string, std::int64_t> callers;
    const auto was_counted = [&](const TreeNode& node) {
      return std::ranges::any_of(before, [&](const HotSubject& other) { return is_of(other, node); });
    };
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      const TreeNode& node = tree_.nodes[i];
      if (was_counted(node)) {
        while (i + 1 < tree_.nodes.size() && tree_.nodes[i + 1].depth > node.depth) ++i;
        continue;
      }
      if (!is_of(subject, node)) continue;
      for (std::uint32_t at = node.parent; at != 0; at = tree_.nodes[at].parent) {
        const TreeNode& above = tree_.nodes[at];
        if (is_of(subject, above)) break;  // counted there
        if (!is_own(above) || is_unnamed(tree_.name(above))) continue;
        callers[tree_.name(above)] += node.total;
        break;
      }
    }
    const auto most = std::max_element(callers.begin(), callers.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == callers.end() ? "" : most->first;
  }

  static bool is_user(const TreeNode& node) {
    return node.kind == NodeKind::kUser || node.kind == NodeKind::kInlined;
  }
  bool is_own(const TreeNode& node) const { return is_user(node) && code(node).is_own; }
  bool is_linked(const TreeNode& node) const { return is_user(node) && code(node).is_linked; }

  // What is known of a function by its names alone. A tree has millions of nodes and thousands of functions, so names are
  // compared once per function.
  struct Code {
    bool is_known = false;
    bool is_own = false, is_linked = false;
    bool is_plain = false;  // without a name of its own, or part of a language's runtime
  };
  struct Callers {
    std::int64_t all = 0, called = 0;  // samples; those below code with a name of its own
  };
  static std::uint64_t function_key(const TreeNode& node) {
    return std::uint64_t{node.module} << 32 | node.name;
  }
  const Code& code(const TreeNode& node) const {
    Code& code = codes_[function_key(node)];
    if (code.is_known) return code;
    const std::string& name = tree_.name(node);
    const std::string& module = tree_.modules[node.module].name;
    const RuntimeRules& runtimes = built_in_runtime_rules();
    code = {true, sources_.is_own(module, name), sources_.is_linked_code(module, name),
            is_unnamed(name) || runtimes.has_function(name) || runtimes.begins(name)};
    return code;
  }

  HotFrame frame_of(const TreeNode& node) const {
    return {tree_.name(node), tree_.modules[node.module].name,
            node.kind,        sources_.place_of(tree_.modules[node.module].name, tree_.name(node)),
            node.self,        node.total,
            is_own(node)};
  }

  std::vector<std::uint32_t> children_of(std::uint32_t node) const {
    std::vector<std::uint32_t> children;
    for (std::uint32_t child = tree_.first_child(node); child != kNoNode;
         child = tree_.nodes[child].next_sibling)
      children.push_back(child);
    stable_sort_rows(children.begin(), children.end(), [&](std::uint32_t a, std::uint32_t b) {
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

  // The most informative rows: own code, its callees, and where the path narrows.
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
    stable_sort_rows(scores.begin(), scores.end());
    // In own code the innermost calls are more informative than the outermost ones.
    if (own + 2 > most)
      stable_sort_rows(scores.begin(), scores.end(),
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
  std::vector<std::int64_t> weights_;  // by frame, with what is called from there
  SourceFacts sources_;
  mutable std::vector<char> programs_;  // by module: 0: not asked, 1: another file, 2: that of a program
  mutable FlatMap<Code> codes_;         // by function_key
  mutable FlatMap<Callers> callers_;    // of linked functions, by function_key
  mutable bool knows_callers_ = false;
  mutable std::map<std::string, int> works_;  // numbers of common costs
};

}  // namespace

HotPath find_hot_path(const Profile& profile, const Selection& selection, const CallTree& tree,
                      std::size_t most) {
  if (tree.metric != Metric::kCpu || tree.total <= 0) return {};
  return Finder(profile, selection, tree).find(most);
}

}  // namespace fathom::analysis
