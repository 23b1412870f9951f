#include "model/rare_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace fathom::model {
namespace {

using testing::HasSubstr;

Profile made_profile(std::uint32_t seed, std::size_t lines) {
  std::mt19937 random(seed);
  Profile profile;
  Builder builder(profile);
  const ModuleId module = builder.module({ModuleKind::kNames, {}, {}, {}, {}, {}});
  profile.processes.emplace_back();
  profile.threads.resize(3);
  for (std::size_t line = 0; line < lines; ++line) {
    StackId stack;
    for (auto depth = random() % 8; depth-- > 0;)
      stack = builder.stack(stack, builder.named_frame(std::string(1, "abcdef"[random() % 6]), module));
    Sample sample;
    sample.thread = {static_cast<std::uint32_t>(random() % 3)};
    sample.stack = stack;
    sample.value = random() % 8 == 0 ? random() % 1000 : 1;
    profile.samples.push_back(sample);
  }
  return profile;
}

using Path = std::vector<std::uint32_t>;
Path call_path(const Profile& profile, StackId stack) {
  Path path;
  for (; stack.value != 0; stack = profile.stacks[stack.value].parent)
    path.insert(path.begin(), profile.stacks[stack.value].frame.value);
  return path;
}
// What each thread spent in each call with all that it calls.
std::map<std::pair<std::uint32_t, Path>, std::int64_t> call_totals(const Profile& profile) {
  std::map<std::pair<std::uint32_t, Path>, std::int64_t> totals;
  for (const Sample& sample : profile.samples)
    for (Path path = call_path(profile, sample.stack);; path.pop_back()) {
      totals[{sample.thread.value, path}] += sample.value;
      if (path.empty()) break;
    }
  return totals;
}

TEST(RareStacks, EveryCallThatIsKeptHasItsTotalAndTheRarestAreGone) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const Profile whole = made_profile(seed, 400);
    for (const std::size_t most :
         {std::size_t{0}, std::size_t{1}, std::size_t{50}, whole.stacks.size() - 2}) {
      Profile profile = whole;
      RareStacks folded;
      fold_rare_stacks(profile, most, folded);
      ASSERT_TRUE(check(profile).has_value());
      EXPECT_EQ(profile.stacks.size(), most + 1);
      EXPECT_EQ(folded.stacks, whole.stacks.size() - profile.stacks.size());
      const auto before = call_totals(whole), after = call_totals(profile);
      for (const auto& [call, total] : after) EXPECT_EQ(before.at(call), total);
      // No call that is gone is worth more than one that is kept.
      std::map<Path, std::int64_t> all;
      for (const auto& [call, total] : before) all[call.second] += total;
      std::set<Path> kept;
      for (std::uint32_t i = 0; i < profile.stacks.size(); ++i) kept.insert(call_path(profile, {i}));
      std::int64_t least = INT64_MAX, largest = 0;
      for (const auto& [path, total] : all)
        if (kept.contains(path))
          least = std::min(least, total);
        else
          largest = std::max(largest, total);
      EXPECT_LE(largest, least);
      EXPECT_EQ(folded.largest, largest);
    }
  }
}

TEST(RareStacks, SamplesThatBecomeEqualAreOne) {
  Profile profile = made_profile(1, 400);
  RareStacks folded;
  fold_rare_stacks(profile, 0, folded);
  EXPECT_EQ(profile.samples.size(), 3u);  // one for each thread
}

TEST(RareStacks, ASmallProfileIsLeftAsItIs) {
  const Profile whole = made_profile(1, 400);
  Profile profile = whole;
  RareStacks folded;
  fold_rare_stacks(profile, whole.stacks.size() - 1, folded);
  EXPECT_EQ(profile, whole);
  EXPECT_EQ(folded.note(100), "");
}

TEST(RareStacks, TheNoteSaysHowMuchIsMerged) {
  const RareStacks folded{.stacks = 70, .value = 25, .largest = 2};
  EXPECT_THAT(folded.note(200), HasSubstr("70 rare calls, each with at most 1 % of all"));
  EXPECT_THAT(folded.note(200), HasSubstr("At most 12.5 % of all"));
}

}  // namespace
}  // namespace fathom::model
