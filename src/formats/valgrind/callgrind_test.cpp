#include "formats/valgrind/callgrind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_THAT(profile.quality.notes, Contains(HasSubstr("Of the events Ir Dr the first one is shown")));
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
  EXPECT_THAT(refusal("events: Ir\nfn=(7)\n"), HasSubstr("line 2 is none of callgrind's"));
  EXPECT_THAT(refusal("events: Ir\n12 5\n"), HasSubstr("line 2 is none of callgrind's"));
  EXPECT_THAT(refusal("events: Ir\nfn=f\n12 five\n"), HasSubstr("line 3 is none of callgrind's"));
  EXPECT_THAT(refusal("events: Ir\nfn=f\ncalls=1 2\n1 5\n"), HasSubstr("line 4 is none of callgrind's"));
  EXPECT_THAT(refusal("# callgrind format\nfn=f\n"), HasSubstr("no line 'events:'"));
  EXPECT_THAT(refusal("events: Ir\n"), HasSubstr("no cost of Ir"));
}

}  // namespace
}  // namespace fathom::formats
