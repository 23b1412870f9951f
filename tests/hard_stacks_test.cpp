// Stacks on which other tools stop or invent frames: in the middle of an exception, thousands of frames deep,
// and of Go programs without symbols.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

// A busy machine gives the recorder no time for some milliseconds when a program starts.
const std::string kBefore = "sampled before the mappings were known";

struct FoldedStack {
  std::vector<std::string> frames;  // from the root on
  double samples = 0;
};

std::vector<FoldedStack> folded_stacks(const std::string& recording) {
  const Outcome outcome = fathom({"export", recording, "--to", "folded", "-o", "-"});
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  std::vector<FoldedStack> stacks;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    FoldedStack stack;
    stack.samples = std::atof(line.substr(line.rfind(' ') + 1).c_str());
    std::istringstream frames(line.substr(0, line.rfind(' ')));
    for (std::string frame; std::getline(frames, frame, ';');) stack.frames.push_back(frame);
    stacks.push_back(stack);
  }
  return stacks;
}

TEST(HardStacks, NoCallerIsInventedWhileAnExceptionIsPassedOn) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "-F", "1999", "-o", folder / "x.fathom", "--", PASSED_ON, "1.5"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const std::map<std::string, std::vector<std::string>> callers{{"throws", {"goes_deeper"}},
                                                                {"goes_deeper", {"goes_deeper", "passes_on"}},
                                                                {"passes_on", {"catches"}},
                                                                {"catches", {"throws_in_a_loop"}},
                                                                {"throws_in_a_loop", {"main"}}};
  double all = 0, of_exceptions = 0;
  for (const FoldedStack& stack : folded_stacks(folder / "x.fathom")) {
    all += stack.samples;
    for (std::size_t i = 1; i < stack.frames.size(); ++i) {
      if (stack.frames[i].starts_with("_Unwind_")) of_exceptions += stack.samples;
      const auto known = callers.find(stack.frames[i]);
      if (known == callers.end()) continue;
      // A truncated stack starts anywhere, and is marked; the frame above a known function is its caller.
      EXPECT_THAT(known->second, ::testing::Contains(stack.frames[i - 1]))
          << stack.samples << " samples of " << stack.frames[i];
    }
  }
  EXPECT_GE(all, 100);
  EXPECT_GE(of_exceptions, all / 10);
  const Report report(folder / "x.fathom");
  // One sample in ten falls between the change of the registers and the jump; of 3,000 samples that is 10 % +- 2 % by
  // chance alone.
  EXPECT_GE(report.complete_percent(), 85) << report.quality();
  // Nothing else ends early here but the start and the end of the program.
  EXPECT_GE(report.complete_percent_without(
                {"an exception was being propagated, and saved registers were overwritten",
                 "stack memory that could not be read", kBefore}),
            99.5)
      << report.quality();
}

TEST(HardStacks, DeepRecursionKeepsBothEnds) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  for (const auto& [depth, whole] : {std::pair{"900", true}, std::pair{"6000", false}}) {
    const std::string recording = folder / (std::string(depth) + ".fathom");
    const Outcome outcome =
        fathom({"record", "-F", "199", "-o", recording, "--", DEEP_RECURSION, depth, "0.7"},
               {.folder = folder.path()});
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    double deep = 0, marked = 0, before = 0;
    for (const FoldedStack& stack : folded_stacks(recording)) {
      if (stack.frames.back() != "burns_at_the_bottom") continue;
      if (stack.frames.size() == 2) {  // the process and the function alone
        before += stack.samples;
        continue;
      }
      deep += stack.samples;
      EXPECT_THAT(stack.frames, ::testing::IsSupersetOf({"main", "starts_deep"}));
      const auto mark = std::ranges::count(stack.frames, "[frames left out]");
      marked += mark == 1 ? stack.samples : 0;
      EXPECT_EQ(stack.frames[stack.frames.size() - 2], "goes_down");
    }
    EXPECT_GE(deep, 20);
    EXPECT_EQ(marked, whole ? 0 : deep);
    // Nothing else leaves a function alone.
    EXPECT_LE(before, 0.05 * deep);
    const Report report(recording);
    EXPECT_LE(before, report.ended_early(kBefore)) << report.quality();
    if (whole) {
      EXPECT_GE(report.complete_percent(), 95) << report.quality();
    } else {
      EXPECT_GE(marked, 0.5 * static_cast<double>(report.samples())) << report.quality();
      EXPECT_LE(report.complete_percent(), 10) << report.quality();
    }
  }
}

// The loader looks functions up on a frame that has no fixed size.
TEST(HardStacks, WhatIsLookedUpByTheLoaderStandsBelowItsCaller) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome outcome = fathom({"record", "-F", "499", "-o", folder / "x.fathom", "--", LAZY_BINDING, "1"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  double all = 0, below = 0;
  for (const FoldedStack& stack : folded_stacks(folder / "x.fathom")) {
    all += stack.samples;
    const auto binds = std::ranges::find(stack.frames, "binds_again");
    if (binds == stack.frames.end() || binds - stack.frames.begin() < 2 || *(binds - 1) != "main") continue;
    below += stack.frames.end() - binds >= 3 ? stack.samples
                                             : 0;  // in the loader: what resolves, and what that calls
  }
  EXPECT_GE(below, 0.1 * all);  // restoring the registers takes most of the time
  const Report report(folder / "x.fathom");
  EXPECT_GE(report.complete_percent_without({kBefore}), 98) << report.quality();
}

// Without symbols and debugging information, as Go programs are shipped.
TEST(HardStacks, StrippedGoProgramIsNamedByItsOwnTable) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_PROGRAM("go");
  const TempDir folder;
  const CommandOptions build{.folder = folder.path(),
                             .environment = {"GOCACHE=" + (folder / "cache"), "GO111MODULE=off"}};
  // Debian's Go where it is installed: most inlined calls of Go 1.26 are not named yet.
  const char* const go = ::access("/usr/bin/go", X_OK) == 0 ? "/usr/bin/go" : "go";
  const Outcome built =
      run({go, "build", "-ldflags=-s -w", "-o", folder / "known_go", KNOWN_GO_SOURCE}, build);
  ASSERT_TRUE(built.ok()) << built.describe();
  const Outcome outcome = fathom({"record", "-o", folder / "x.fathom", "--", folder / "known_go"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  double all = 0, right = 0;
  for (const FoldedStack& stack : folded_stacks(folder / "x.fathom")) {
    const auto leaf = std::ranges::find(stack.frames, "main.leaf");
    if (leaf == stack.frames.end()) continue;
    all += stack.samples;
    const std::vector<std::string> above(leaf - std::min<std::ptrdiff_t>(2, leaf - stack.frames.begin()),
                                         leaf);
    if (above == std::vector<std::string>{"main.spin", "main.(*worker).step"}) right += stack.samples;
  }
  EXPECT_GE(all, 50);
  EXPECT_GE(right, all * 0.95);
  const Report report(folder / "x.fathom");
  EXPECT_GE(report.complete_percent(), 95) << report.quality();
  EXPECT_GE(report.complete_percent_without({kBefore}), 99) << report.quality();
  EXPECT_GE(report.total_percent("main.mix"), 30);
  EXPECT_GE(report.total_percent("main.main.func1"), 20);
}

}  // namespace
}  // namespace fathom::support
