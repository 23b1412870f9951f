#include "analysis/waits/node_wakers.h"

#include <gtest/gtest.h>

#include "analysis/waits/hand_made_waits.h"

namespace fathom::analysis {
namespace {

// "thread in site, 0.40"; "" without a waker. By the names on the way from the root: the first node of this name.
std::string waker_of(const CallTree& tree, const std::vector<std::optional<NodeWaker>>& wakers,
                     const std::string& name) {
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.name(tree.nodes[i]) != name) continue;
    if (!wakers[i]) return "";
    char share[16];
    std::snprintf(share, sizeof share, "%.2f", wakers[i]->share);
    return wakers[i]->thread + " in " + wakers[i]->site + ", " + share;
  }
  return "no such node";
}

TreeOptions off_cpu() {
  TreeOptions options;
  options.selection.metric = model::Metric::kOffCpu;
  options.drop_idle = true;
  return options;
}

TEST(NodeWakers, AWaitForALockIsWokenByTheThreadThatReleasesIt) {
  const model::Profile profile = waiting_server();
  for (const bool fold_kernel : {false, true}) {
    for (const bool threads : {false, true}) {
      TreeOptions options = off_cpu();
      options.fold_kernel = fold_kernel;
      options.thread_roots = threads;
      const CallTree tree = build_call_tree(profile, options);
      const auto wakers = wakers_of_nodes(profile, tree, options);
      ASSERT_EQ(wakers.size(), tree.nodes.size());
      EXPECT_EQ(waker_of(tree, wakers, "[wait: futex]"), "worker in db::Log::release, 1.00");
      EXPECT_EQ(waker_of(tree, wakers, "db::Table::get"), "worker in db::Log::release, 1.00");
      // Of all that is waited below, also for files: 1.6 of 5.5 s.
      EXPECT_EQ(waker_of(tree, wakers, "db::serve").substr(0, 30), "worker in db::Log::release, 0.");
      EXPECT_NE(waker_of(tree, wakers, "db::serve"), "worker in db::Log::release, 1.00");
    }
  }
}

TEST(NodeWakers, ADiskIsNoThread) {
  model::Profile profile = waiting_server();
  for (model::Wait& wait : profile.waits)  // the thread that the disk's interrupt came upon
    if (wait.waker == model::kNoThread) wait.waker = {0};
  const TreeOptions options = off_cpu();
  const CallTree tree = build_call_tree(profile, options);
  EXPECT_EQ(waker_of(tree, wakers_of_nodes(profile, tree, options), "db::Log::commit"), "");
}

TEST(NodeWakers, ATreeOfCpuTimeOrFromTheLeavesHasNone) {
  const model::Profile profile = waiting_server();
  TreeOptions options = off_cpu();
  options.reverse = true;
  EXPECT_TRUE(wakers_of_nodes(profile, build_call_tree(profile, options), options).empty());
  options = {};
  EXPECT_TRUE(wakers_of_nodes(profile, build_call_tree(profile, options), options).empty());
}

}  // namespace
}  // namespace fathom::analysis
