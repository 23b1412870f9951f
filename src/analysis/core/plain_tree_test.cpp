#include "analysis/core/plain_tree.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "analysis/core/hand_made_profile.h"

namespace fathom::analysis {
namespace {

// Text of another tool: frames are names. Few of them, so that stacks share their beginnings, call themselves and end inside of
// one another.
model::Profile random_names(unsigned seed) {
  std::mt19937 random(seed);
  HandMade hand;
  const auto names = hand.module("", model::ModuleKind::kNames),
             kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  const auto process = hand.process(1, "app");
  std::vector<model::ThreadId> threads;
  for (unsigned i = 0; i < 1 + random() % 5; ++i)
    threads.push_back(hand.thread(process, static_cast<int>(i), "t" + std::to_string(random() % 4)));
  std::vector<model::FrameId> frames;
  for (int i = 0; i < 6; ++i)
    frames.push_back(hand.builder.named_frame(std::string(1, "fbdace"[i]), i == 3 ? kernel : names));
  frames.push_back(hand.builder.named_frame("t1", names));  // as a thread is called
  for (unsigned i = 0; i < 60; ++i) {
    std::vector<model::FrameId> chain;
    for (auto depth = random() % 7; depth-- > 0;) chain.push_back(frames[random() % frames.size()]);
    hand.sample(threads[random() % threads.size()], hand.stack(chain), 1, 0, model::Metric::kCpu,
                1 + static_cast<int>(random() % 9));
  }
  return hand.profile;
}

// With it the profile has two frames of one name, and its tree is drafted.
void add_second_frame(model::Profile& profile) {
  profile.frames.push_back(profile.frames.back());
}

bool is_plain(const model::Profile& profile, const TreeOptions& options) {
  CallTree tree;
  tree.unit = "samples";
  const StackSums sums = add_up_stacks(profile, options, tree);
  Places places(profile, false, false, nullptr);
  return PlainTree::of(profile, options, sums, places).has_value();
}

TEST(PlainTree, IsTheTreeThatIsDraftedOtherwise) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    model::Profile profile = random_names(seed), other = profile;
    add_second_frame(other);
    for (const bool roots : {false, true}) {
      const TreeOptions options{.thread_roots = roots};
      ASSERT_TRUE(is_plain(profile, options));
      ASSERT_FALSE(is_plain(other, options));
      ASSERT_EQ(build_call_tree(profile, options), build_call_tree(other, options)) << "seed " << seed;
    }
    TreeOptions of_thread;
    of_thread.selection.thread = "t1";
    ASSERT_EQ(build_call_tree(profile, of_thread), build_call_tree(other, of_thread)) << "seed " << seed;
  }
}

// A table may have equal stacks, also above others: a file that was made by hand, or a merged one.
TEST(PlainTree, EqualStacksAreOneNode) {
  model::Profile profile = random_names(1);
  const auto first = static_cast<std::uint32_t>(profile.stacks.size());
  const CallTree once = build_call_tree(profile, {});
  std::vector<model::Stack> copies(profile.stacks.begin() + 1, profile.stacks.end());
  for (model::Stack& stack : copies)
    if (stack.parent.value != 0) stack.parent.value += first - 1;
  profile.stacks.insert(profile.stacks.end(), copies.begin(), copies.end());
  for (std::size_t i = 0; i < profile.samples.size(); i += 2)
    if (profile.samples[i].stack.value != 0) profile.samples[i].stack.value += first - 1;
  ASSERT_TRUE(model::check(profile));
  ASSERT_TRUE(is_plain(profile, {}));
  EXPECT_EQ(build_call_tree(profile, {}), once);
}

}  // namespace
}  // namespace fathom::analysis
