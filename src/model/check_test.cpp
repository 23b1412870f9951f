#include <gtest/gtest.h>

#include "model/profile.h"
#include "model/random_profile.h"
#include "model/testing_spoil.h"

namespace fathom::model {
namespace {

// One row in every table.
Profile small_profile() {
  Profile profile;
  Builder builder(profile);
  const FrameId frame = builder.frame({0}, {0x10});
  builder.name_frame(frame, {{"f", "f.c", 1}});
  builder.stack({0}, frame);
  profile.processes.push_back({});
  profile.threads.push_back({});
  profile.samples.emplace_back().stack = {1};
  profile.objects.push_back({ObjectKind::kFile, builder.string("/data/log"), 0, 0});
  profile.waits.emplace_back().object = {1};
  profile.spans.push_back({10, 20, builder.string("commit"), {0}, SpanSource::kMark, 0, 0});
  profile.series.push_back({builder.string("memory.rss_anon"), builder.string("bytes"), 0, {{1, 2}}});
  profile.quality.early_ends.push_back({3, {0}, 1});
  return profile;
}

// What check() says after `spoil` changed the small profile.
template <class Spoil>
std::string complaint(const Spoil& spoil) {
  Profile profile = small_profile();
  spoil(profile);
  auto checked = check(profile);
  return checked ? "" : checked.error().message;
}

TEST(Check, AcceptsTheEmptyTheSmallAndEveryRandomProfile) {
  EXPECT_TRUE(check(Profile()));
  EXPECT_TRUE(check(small_profile()));
  for_each_profile(200, [](const Profile& profile) { EXPECT_TRUE(check(profile)); });
}

TEST(Check, RefusesEveryBrokenValueOfEveryTable) {
  Spoiler spoiler(Spoil::kAll);
  for_each_profile(40, [&](const Profile& profile) {
    spoiler.each(profile, [](Profile& broken, const std::string& name) {
      const auto checked = check(broken);
      ASSERT_FALSE(checked) << name;
      EXPECT_EQ(checked.error().message.substr(0, name.find('.')), name.substr(0, name.find('.'))) << name;
    });
  });
  // 26 tables; a new one, or a new field with a rule, makes this larger.
  EXPECT_EQ(spoiler.broken().size(), 98u) << ::testing::PrintToString(spoiler.broken());
}

TEST(Check, NamesTheRowThatPointsOutsideOfItsTable) {
  EXPECT_EQ(complaint([](Profile& p) { p.modules.clear(); }), "module 0 is not the unknown module");
  EXPECT_EQ(complaint([](Profile& p) { p.modules[0].path = {99}; }), "module 0: no such string");
  EXPECT_EQ(complaint([](Profile& p) { p.functions[0].name = {99}; }), "function 0: no such string");
  EXPECT_EQ(complaint([](Profile& p) { p.functions[0].module = {1}; }), "function 0: no such module");
  EXPECT_EQ(complaint([](Profile& p) { p.lines[0].function = {1}; }), "line 0: no such function");
  EXPECT_EQ(complaint([](Profile& p) { p.lines[0].file = {99}; }), "line 0: no such string");
  EXPECT_EQ(complaint([](Profile& p) { p.frames[0].module = {1}; }), "frame 0: no such module");
  EXPECT_EQ(complaint([](Profile& p) { p.stacks[1].frame = {1}; }), "stack 1: no such frame");
  EXPECT_EQ(complaint([](Profile& p) { p.processes[0].name = {99}; }), "process 0: no such string");
  EXPECT_EQ(complaint([](Profile& p) { p.threads[0].process = {1}; }), "thread 0: no such process");
  EXPECT_EQ(complaint([](Profile& p) { p.threads[0].name = {99}; }), "thread 0: no such string");
  EXPECT_EQ(complaint([](Profile& p) { p.samples[0].thread = {1}; }), "sample 0: no such thread");
  EXPECT_EQ(complaint([](Profile& p) { p.samples[0].stack = {2}; }), "sample 0: no such stack");
  EXPECT_EQ(complaint([](Profile& p) { p.objects[1].name = {99}; }), "object 1: no such string");
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].thread = {1}; }), "wait 0: no such thread");
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].thread = kNoThread; }), "wait 0: no such thread");
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].waker = {1}; }), "wait 0: no such thread");
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].stack = {2}; }), "wait 0: no such stack");
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].waker_stack = {2}; }), "wait 0: no such stack");
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].object = {2}; }), "wait 0: no such object");
  EXPECT_EQ(complaint([](Profile& p) { p.spans[0].name = {99}; }), "span 0: no such string");
  EXPECT_EQ(complaint([](Profile& p) { p.spans[0].thread = {1}; }), "span 0: no such thread");
  EXPECT_EQ(complaint([](Profile& p) { p.series[0].unit = {99}; }), "series 0: no such string");
  EXPECT_EQ(complaint([](Profile& p) { p.quality.early_ends[0].module = {1}; }),
            "early end 0: no such module");
}

TEST(Check, LinesOfAFrameLieInsideTheirTableEvenWhenTheSumWraps) {
  const std::string outside = "frame 0: lines outside of their table";
  EXPECT_EQ(complaint([](Profile& p) { p.frames[0].line_count = 2; }), outside);
  EXPECT_EQ(complaint([](Profile& p) { p.frames[0].first_line = 2; }), outside);
  EXPECT_EQ(complaint([](Profile& p) {
              p.frames[0].first_line = 1;
              p.frames[0].line_count = UINT32_MAX;
            }),
            outside);
}

TEST(Check, StackStandsAfterItsParent) {
  EXPECT_EQ(complaint([](Profile& p) { p.stacks[1].parent = {1}; }),
            "stack 1: does not stand after its parent");
  EXPECT_EQ(complaint([](Profile& p) { p.stacks.clear(); }), "stack 0 is missing");
}

TEST(Check, ObjectZeroIsTheUnknownOne) {
  const std::string missing = "object 0 is not the unknown object";
  EXPECT_EQ(complaint([](Profile& p) { p.objects.clear(); }), missing);
  EXPECT_EQ(complaint([](Profile& p) { p.objects[0].address = 1; }), missing);
}

TEST(Check, WaitMayHaveNoWakerOrAThread) {
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].waker = kNoThread; }), "");
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].waker = {0}; }), "");
}

TEST(Check, WaitStandsForItselfAtLeast) {
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].weight = 0; }), "wait 0: stands for no wait");
}

TEST(Check, EndOfAWaitFitsIntoItsType) {
  const auto ending = [](std::uint64_t start, std::uint64_t waited, std::uint64_t queued) {
    return complaint([&](Profile& p) {
      p.waits[0].start_ns = start;
      p.waits[0].waited_ns = waited;
      p.waits[0].queued_ns = queued;
    });
  };
  EXPECT_EQ(ending(UINT64_MAX - 3, 2, 1), "");
  const std::string beyond = "wait 0: ends beyond the end of time";
  EXPECT_EQ(ending(UINT64_MAX - 3, 2, 2), beyond);
  EXPECT_EQ(ending(1, UINT64_MAX, 0), beyond);
  EXPECT_EQ(ending(0, UINT64_MAX, UINT64_MAX), beyond);
}

TEST(Check, SpanEndsAfterItsStartAndMayHaveNoThread) {
  EXPECT_EQ(complaint([](Profile& p) { p.spans[0].thread = kNoThread; }), "");
  EXPECT_EQ(complaint([](Profile& p) { p.spans[0].end_ns = 10; }), "");
  EXPECT_EQ(complaint([](Profile& p) { p.spans[0].end_ns = 9; }), "span 0: ends before it starts");
}

TEST(Check, UnknownEnumeratorsAreRefused) {
  EXPECT_EQ(complaint([](Profile& p) { p.modules[0].symbols = static_cast<SymbolSource>(50); }),
            "module 0: unknown symbols");
  EXPECT_EQ(complaint([](Profile& p) { p.samples[0].metric = static_cast<Metric>(50); }),
            "sample 0: unknown metric");
  EXPECT_EQ(complaint([](Profile& p) { p.objects[1].kind = static_cast<ObjectKind>(50); }),
            "object 1: unknown kind");
  EXPECT_EQ(complaint([](Profile& p) { p.waits[0].state = static_cast<WaitState>(50); }),
            "wait 0: unknown state");
  EXPECT_EQ(complaint([](Profile& p) { p.spans[0].source = static_cast<SpanSource>(50); }),
            "span 0: unknown source");
}

}  // namespace
}  // namespace fathom::model
