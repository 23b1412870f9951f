#include "formats/valgrind/callgrind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "formats/import/import_testing.h"
#include "formats/valgrind/call_paths.h"
#include "model/exact_count.h"

namespace fathom::formats {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// main calls heat once and cool once; both call work: heat for 300 of its 400.
constexpr std::string_view kCalls = R"(# callgrind format
version: 1
creator: callgrind-3.19.0
cmd: ./book 1 2
positions: line
events: Ir Dr

ob=(1) /bin/book
fl=(1) book.c
fn=(1) main
10 100 7
cfn=(2) heat
calls=1 20
+2 500 0
cfn=(3) cool
calls=1 30
* 150

fn=(2)
20 200
cfn=(4) work
calls=3 40
+1 300

fn=(3)
30 50
cfn=(4)
calls=1 40
+1 100

fn=(4)
40 400
summary: 750
)";

TEST(Callgrind, CostsOfFunctionsAreExactAndPathsInProportion) {
  ASSERT_TRUE(is_callgrind(kCalls));
  const model::Profile profile = read_callgrind(kCalls, "x").value();
  EXPECT_THAT(stacks_of(profile), ElementsAre("book;main 100", "book;main;cool 50", "book;main;cool;work 100",
                                              "book;main;heat 200", "book;main;heat;work 300"));
  EXPECT_EQ(analysis::unit_of(profile, model::Metric::kCpu), "instructions");
  EXPECT_TRUE(model::counts_all(profile));
  EXPECT_EQ(profile.meta.event, "Ir");
  EXPECT_THAT(profile.quality.notes, Contains(HasSubstr("in proportion")));
  EXPECT_THAT(profile.quality.notes, Contains(HasSubstr("; the first one is shown.")));
}

// Which file a function is of where no line says so: that of the last cost, also one that was included.
TEST(Callgrind, FilesThatAreLeftOutAreThoseOfTheLastCost) {
  const std::string begin = "events: Ir\nfl=main.c\nfn=main\n1 10\n";
  const std::string call = "calls=1 5\n2 70\n", callee = "fl=table.h\nfn=find\n5 70\n";
  const std::vector<std::pair<const char*, std::string>> texts = {
      {"explicit", begin + "cfi=table.h\ncfn=find\n" + call + callee},
      {"after a cost in it", begin + "fi=table.h\n7 0\ncfn=find\n" + call + callee},
      {"after the cost of a jump in it",
       begin + "fi=table.h\n7 0\njcnd=3/9 +2\n*\ncfn=find\n" + call + callee},
      // "fe=" goes back to the function's file at its end, and the next one is of it without saying so.
      {"the next function of the file",
       "events: Ir\nfl=table.h\nfn=walk\nfi=main.c\n3 0\nfe=table.h\nfn=find\n5 70\nfl=main.c\nfn=main\n1 "
       "10\n"
       "cfi=table.h\ncfn=find\n" +
           call},
      {"named by a jump",
       "events: Ir\nfl=main.c\nfn=main\n1 10\njfi=(9) table.h\njfn=(4) find\njump=1 3\n1\n"
       "cfi=(9)\ncfn=(4)\n" +
           call + "fl=(9)\nfn=(4)\n5 70\n"},
      {"named as a caller", "events: Ir\nfrfn=(4) find\nfl=main.c\nfn=main\n1 10\ncfi=table.h\ncfn=(4)\n" +
                                call + "frfn=(7) main\nfl=table.h\nfn=(4)\n5 70\n"}};
  for (const auto& [how, text] : texts) {
    const model::Profile profile = read_callgrind(text, "x").value();
    EXPECT_THAT(stacks_of(profile), ElementsAre("[thread 0];main 10", "[thread 0];main;find 70")) << how;
  }
  // The call stands in an included file without a cost: the callee is of the file of the cost before.
  const model::Profile profile =
      read_callgrind(begin + "fi=table.h\ncfn=step\n" + call + "fl=main.c\nfn=step\n5 70\n", "x").value();
  EXPECT_THAT(stacks_of(profile), ElementsAre("[thread 0];main 10", "[thread 0];main;step 70"));
}

TEST(Callgrind, WhatCachegrindWritesHasFunctionsAndNoCalls) {
  constexpr std::string_view kText =
      "desc: I1 cache: 32768 B, 64 B, 8-way associative\ncmd: ./book 1\nevents: Ir I1mr\n"
      "fl=book.c\nfn=main\n1 5 0\n2 7 1\nfl=list.h\nfn=find\n9 30 0\nsummary: 42 1\n";
  ASSERT_TRUE(is_callgrind(kText));
  const model::Profile profile = read_callgrind(kText, "x").value();
  EXPECT_THAT(stacks_of(profile), ElementsAre("book;find 30", "book;main 12"));
  EXPECT_THAT(profile.quality.notes,
              ElementsAre(HasSubstr("The file has the events Ir I1mr; the first one is shown.")));
  EXPECT_FALSE(is_callgrind("desc: (none)\ncmd: ./book\ntime_unit: i\n#-----------\nsnapshot=0\n"));
}

TEST(Callgrind, RecursionEndsAndLosesNothing) {
  const model::Profile profile = read_callgrind(R"(events: Ir
fn=main
1 1
cfn=deep
calls=1 2
1 1000
fn=deep
2 999
cfn=deep
calls=9 2
2 900
cfn=main
calls=1 1
2 5
)",
                                                "x")
                                     .value();
  EXPECT_EQ(total_of(profile, model::Metric::kCpu), 1000);
}

// Found by fuzzing: a share of nothing is no number.
TEST(Callgrind, AFunctionThatCostNothingHasNoValue) {
  CallCosts costs;
  costs.self = {0, 7};
  costs.of_calls[{0, 1}] = 0;
  for (const CallPath& path : paths_of(costs)) EXPECT_EQ(path.value, path.function == 1 ? 7 : 0);
}

TEST(Callgrind, PathsOfAFunctionAddUpToItsCost) {
  // Three callers of equal weight, and a cost that three do not divide.
  CallCosts costs;
  costs.self = {0, 0, 0, 100};
  for (std::uint32_t caller = 0; caller < 3; ++caller) costs.of_calls[{caller, 3}] = 33;
  std::int64_t sum = 0;
  for (const CallPath& path : paths_of(costs))
    if (path.function == 3) sum += path.value;
  EXPECT_EQ(sum, 100);
}

TEST(Callgrind, DamageIsSaid) {
  const auto refusal = [](std::string_view text) { return read_callgrind(text, "x").error().message; };
  EXPECT_THAT(refusal("events: Ir\n12 5\n"), HasSubstr("no cost of Ir"));
  EXPECT_THAT(refusal("# callgrind format\nfn=f\n"), HasSubstr("no line 'events:'"));
  EXPECT_THAT(refusal("events: Ir\n"), HasSubstr("no cost of Ir"));
}

TEST(Callgrind, ALineThatIsNoneOfItsCostsItself) {
  const auto notes = [](std::string_view text) {
    const Result<model::Profile> read = read_callgrind(text, "x");
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_THAT(stacks_of(*read), testing::Contains("[thread 0];main 5"));
    return read->quality.notes;
  };
  const auto left_out = [](std::string_view what) { return testing::Contains(HasSubstr(what)); };
  EXPECT_THAT(notes("events: Ir\n12 5\nfn=main\n1 5\n"), left_out("it is line 2: '12 5'"));
  EXPECT_THAT(
      notes("events: Ir\nfn=main\n12 five\nWARNING here\n1 5\n"),
      left_out("2 of 5 lines are none of callgrind's and are left out; the first is line 3: '12 five'"));
  EXPECT_THAT(notes("events: Ir\nfn=main\n1 5\nfn=(7)\n2 9\n"), testing::Not(left_out("left out")))
      << "a function whose name the file lacks has its number";
}

// Lines of jumps cost nothing, and may be the first to say what a number stands for.
TEST(Callgrind, NamesOnLinesOfJumpsAreNames) {
  const model::Profile profile =
      read_callgrind(
          "events: Ir\nob=(1) /usr/bin/prog\nfl=(1) main.c\nfn=(1) main\n10 100\n"
          "jfi=(2) table.h\njfn=(2) find\njob=(3) /lib/x.so\njump=3 20\n11\njcnd=1/2 20\n"
          "12 5\nfi=(2)\n20 700\nfe=(1)\n13 7\nfn=(2)\nob=(3)\n1 9\n",
          "x")
          .value();
  // callgrind_annotate: 700 in main of table.h, 112 of main.c.
  std::map<std::string, std::int64_t> costs;
  for (const model::Sample& sample : profile.samples) {
    const model::Frame& leaf = profile.frames[profile.stacks[sample.stack.value].frame.value];
    const model::Line& line = profile.lines[leaf.first_line];
    costs[std::string(profile.strings[profile.functions[line.function.value].name]) + " " +
          std::string(profile.strings[line.file])] += sample.value;
  }
  EXPECT_EQ(costs, (std::map<std::string, std::int64_t>{
                       {"main table.h", 700}, {"main main.c", 112}, {"find main.c", 9}}));
}

}  // namespace
}  // namespace fathom::formats
