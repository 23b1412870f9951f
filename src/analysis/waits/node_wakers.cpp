#include "analysis/waits/node_wakers.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/core/fold_generics.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/core/waits.h"
#include "analysis/waits/wait_chains.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {
namespace {

constexpr double kLeastOfWaiting = 0.1;
constexpr std::uint32_t kUnknownWaker = 0;

// Waited time by waker, sorted by waker; mostly a few entries.
using TimeByWaker = std::vector<std::pair<std::uint32_t, double>>;

void add_time(TimeByWaker& times, std::uint32_t waker, double ns) {
  const auto at = std::ranges::lower_bound(times, waker, {}, &std::pair<std::uint32_t, double>::first);
  if (at != times.end() && at->first == waker)
    at->second += ns;
  else
    times.insert(at, {waker, ns});
}

// A path of names from the root, as one number. Frames of the kernel do not count: a tree shows or folds them.
class NamePath {
 public:
  explicit NamePath(bool fold_recursion) : fold_recursion_(fold_recursion) {}
  void enter(std::uint64_t name) {
    if (fold_recursion_ && name == last_) return;
    last_ = name;
    value_ = (value_ ^ name) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  bool fold_recursion_;
  std::uint64_t value_ = 0x8422'2325'cbf2'9ce4, last_ = 0;
};

std::uint64_t number_of(std::string_view name) {
  return std::hash<std::string_view>{}(name);
}

class WakerFinder {
 public:
  WakerFinder(const model::Profile& profile, const CallTree& tree, const TreeOptions& options)
      : profile_(profile),
        tree_(tree),
        options_(options),
        sites_(profile, options.selection.stacks.get()),
        tracer_(options.selection.tracer ? std::nullopt : tracer_module(profile)),
        has_threads_(tree.nodes.size() > 1 && tree.nodes[1].kind == NodeKind::kThread) {}

  std::vector<std::optional<NodeWaker>> find() {
    std::vector<TimeByWaker> times = times_of_causes();
    std::vector<std::optional<NodeWaker>> found(tree_.nodes.size());
    for (std::size_t node = tree_.nodes.size(); node-- > 0;) {  // children before their parents
      const TimeByWaker own = std::move(times[node]);
      found[node] = largest(own);
      if (node == 0) break;
      for (const auto& [waker, ns] : own) add_time(times[tree_.nodes[node].parent], waker, ns);
    }
    return found;
  }

 private:
  // Of the nodes that are causes of waits.
  std::vector<TimeByWaker> times_of_causes() {
    std::vector<TimeByWaker> times(tree_.nodes.size());
    std::unordered_map<std::uint64_t, std::uint32_t> cause_nodes;
    std::vector<NamePath> paths(tree_.nodes.size(), NamePath(options_.fold_recursion));
    for (std::uint32_t i = 1; i < tree_.nodes.size(); ++i) {
      const TreeNode& node = tree_.nodes[i];
      paths[i] = paths[node.parent];
      if (node.kind == NodeKind::kKernel) continue;
      paths[i].enter(number_of(tree_.name(node)));
      if (node.kind == NodeKind::kCause) cause_nodes[paths[i].value()] = i;
    }
    const Waits waits(profile_, options_.selection);
    for (const SelectedWait& row : waits.rows()) {
      if (row.idle || row.waited_ns == 0) continue;
      const model::Wait wait = waits.wait(row);
      NamePath path = path_of(wait);
      path.enter(number_of(frame_of(row.cause)));
      const auto node = cause_nodes.find(path.value());
      if (node == cause_nodes.end()) continue;
      const bool known = wait.waker != model::kNoThread && is_ended_by_a_thread(row.cause);
      add_time(times[node->second], known ? waker_row(wait) : kUnknownWaker,
               static_cast<double>(weighted_ns(row.waited_ns, waits.weight(row))));
    }
    return times;
  }

  NamePath path_of(const model::Wait& wait) {
    const std::uint64_t key = std::uint64_t{has_threads_ ? wait.thread.value : 0} << 32 | wait.stack.value;
    const auto known = known_paths_.find(key);
    if (known != known_paths_.end()) return known->second;
    NamePath path(options_.fold_recursion);
    if (has_threads_) path.enter(number_of(thread_name(profile_, wait.thread)));
    std::vector<std::uint32_t> stack;
    for (std::uint32_t at = wait.stack.value; at != 0; at = profile_.stacks[at].parent.value)
      stack.push_back(at);
    for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
      const model::FrameId id = profile_.stacks[*at].frame;
      const model::Frame& frame = profile_.frames[id.value];
      if (profile_.modules[frame.module.value].kind == model::ModuleKind::kKernel) continue;
      if (tracer_ && frame.module == *tracer_) continue;
      for (std::uint32_t line = std::max<std::uint32_t>(frame.line_count, 1); line-- > 0;) {
        const std::string name = frame_name(profile_, id, line);
        path.enter(number_of(options_.fold_generics && frame.line_count != 0 ? fold_generics(name) : name));
      }
    }
    known_paths_.emplace(key, path);
    return path;
  }

  std::uint32_t waker_row(const model::Wait& wait) {
    std::string site = wait.waker_stack.value == 0 ? "" : sites_.of(wait.waker_stack);
    // Where each thread of Rust begins says no more than the thread's name.
    if (site.ends_with("::__rust_begin_short_backtrace")) site.clear();
    const auto [row, added] = rows_.try_emplace({thread_name(profile_, wait.waker), std::move(site)},
                                                static_cast<std::uint32_t>(wakers_.size()));
    if (added) wakers_.push_back({row->first.first, row->first.second, 0});
    return row->second;
  }

  std::optional<NodeWaker> largest(const TimeByWaker& times) const {
    double all = 0, most = 0;
    std::uint32_t best = kUnknownWaker;
    for (const auto& [waker, ns] : times) {
      all += ns;
      if (waker == kUnknownWaker || ns <= most) continue;
      most = ns;
      best = waker;
    }
    if (best == kUnknownWaker || most < kLeastOfWaiting * all) return std::nullopt;
    NodeWaker waker = wakers_[best];
    waker.share = most / all;
    return waker;
  }

  const model::Profile& profile_;
  const CallTree& tree_;
  const TreeOptions& options_;
  WaitSites sites_;
  std::optional<model::ModuleId> tracer_;
  bool has_threads_;
  std::unordered_map<std::uint64_t, NamePath> known_paths_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> rows_;
  std::vector<NodeWaker> wakers_{{}};  // row 0: unknown
};

}  // namespace

std::vector<std::optional<NodeWaker>> wakers_of_nodes(const model::Profile& profile, const CallTree& tree,
                                                      const TreeOptions& options) {
  const bool waits = tree.metric == model::Metric::kOffCpu || tree.metric == model::Metric::kWall;
  if (!waits || options.reverse || tree.waits == 0) return {};
  return WakerFinder(profile, tree, options).find();
}

}  // namespace fathom::analysis
