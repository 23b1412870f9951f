// For tests of readers: a profile as people would write it down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::formats {

inline std::int64_t total_of(const model::Profile& profile, model::Metric metric) {
  return analysis::build_call_tree(profile, {.selection = {.metric = metric}}).total;
}

// A wait of the first thread, at the first stack.
inline model::Wait wait_of(std::uint64_t start_ns, std::uint64_t waited_ns, std::uint64_t queued_ns = 0,
                           model::ThreadId waker = model::kNoThread) {
  model::Wait wait;
  wait.start_ns = start_ns;
  wait.waited_ns = waited_ns;
  wait.queued_ns = queued_ns;
  wait.stack = {1};
  wait.waker = waker;
  return wait;
}

// "thread;main;heat 3", a row for each place with a value of its own, sorted by their names; "main;heat 3" where threads were
// not told apart.
inline std::vector<std::string> stacks_of(const model::Profile& profile,
                                          model::Metric metric = model::Metric::kCpu) {
  const analysis::CallTree tree = analysis::build_call_tree(profile, {.selection = {.metric = metric}});
  std::vector<std::string> path, all;
  for (const analysis::TreeNode& node : tree.nodes) {
    path.resize(node.depth);
    path.push_back(tree.names[node.name]);
    if (node.self == 0) continue;
    std::string text;
    if (path.size() > 1 && path[1] == "[all threads]") path[1].clear();
    for (std::size_t i = 1; i < path.size(); ++i) text += (text.empty() ? "" : ";") + path[i];
    all.push_back(text + " " + std::to_string(node.self));
  }
  return all;
}

}  // namespace fathom::formats
