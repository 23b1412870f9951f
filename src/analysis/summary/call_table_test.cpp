#include "analysis/summary/call_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

using namespace model;

class CallTableTest : public testing::Test {
 protected:
  CallTableTest() {
    profile_.meta.start_ns = 1'000;
    profile_.meta.facts["probes"] = "put, take";
    program_ = builder_.module({ModuleKind::kNames, builder_.string("db"), {}, {}, SymbolSource::kNone, {}});
    profile_.processes.resize(2);
    profile_.processes[0].pid = 12;
    profile_.processes[1].pid = 13;
    put_ = builder_.function("put", program_);
    take_ = builder_.function("take", program_);
  }
  // Root first, the function last.
  StackId stack(std::initializer_list<const char*> names) {
    StackId at{0};
    for (const char* name : names) at = builder_.stack(at, builder_.named_frame(name, program_));
    return at;
  }
  static Calls make(const auto& fill) {
    Calls row;
    fill(row);
    return row;
  }
  CallTable table(const Selection& selection = {}) { return make_call_table(profile_, selection).value(); }

  Profile profile_;
  Builder builder_{profile_};
  ModuleId program_;
  FunctionId put_, take_;
};

TEST_F(CallTableTest, AStaticProbeIsCalledByTheFunctionThatItStandsIn) {
  const FunctionId probe = builder_.function("otel_memory:alloc", program_);
  const FunctionId method = builder_.function("db::put", program_);
  for (const FunctionId function : {probe, method})
    profile_.calls.push_back(make([&](Calls& row) {
      row.time_ns = 2'000;
      row.function = function;
      row.stack = stack({"main", "serve", "put"});
      row.calls = function == probe ? 2 : 1;
    }));
  const CallTable made = table();
  ASSERT_EQ(made.functions.size(), 2U);
  EXPECT_EQ(made.functions[0].callers.at(0).name, "put");
  EXPECT_EQ(made.functions[1].callers.at(0).name, "serve");
}

TEST_F(CallTableTest, RowsOfAFunctionAreAddedUpAndItsLongestCallIsTheLongestOfAll) {
  profile_.calls = {make([&](Calls& row) {
                      row.time_ns = 2'000;
                      row.function = put_;
                      row.stack = stack({"main", "serve", "put"});
                      row.calls = 10;
                      row.returned = 9;
                      row.total_ns = 900;
                      row.longest_ns = 300;
                      row.sized = 10;
                      row.bytes = 640;
                    }),
                    make([&](Calls& row) {
                      row.time_ns = 3'000;
                      row.function = put_;
                      row.stack = stack({"main", "load", "put"});
                      row.calls = 5;
                      row.returned = 5;
                      row.total_ns = 100;
                      row.longest_ns = 40;
                      row.sized = 5;
                      row.bytes = 5;
                    })};
  const auto functions = table().functions;
  ASSERT_EQ(functions.size(), 1U);
  EXPECT_EQ(functions[0].name, "put");
  EXPECT_EQ(functions[0].module, "db");
  EXPECT_EQ(
      functions[0].sums,
      (CallSums{
          .calls = 15, .returned = 14, .total_ns = 1000, .longest_ns = 300, .sized = 15, .bytes = 645}));
  EXPECT_EQ(functions[0].not_returned(), 1U);
  ASSERT_EQ(functions[0].callers.size(), 2U);
  EXPECT_EQ(functions[0].callers[0].name, "serve");
  EXPECT_EQ(functions[0].callers[0].sums.total_ns, 900U);
  EXPECT_THAT(functions[0].callers[0].paths.at(0).path, testing::ElementsAre("serve", "main"));
  EXPECT_EQ(functions[0].callers[1].name, "load");
}

TEST_F(CallTableTest, PathsToOneCallerStandBelowIt) {
  profile_.calls = {make([&](Calls& row) {
                      row.time_ns = 2'000;
                      row.function = put_;
                      row.stack = stack({"a", "serve", "put"});
                      row.calls = 1;
                      row.returned = 1;
                      row.total_ns = 10;
                    }),
                    make([&](Calls& row) {
                      row.time_ns = 2'000;
                      row.function = put_;
                      row.stack = stack({"b", "serve", "put"});
                      row.calls = 1;
                      row.returned = 1;
                      row.total_ns = 70;
                    })};
  const auto callers = table().functions.at(0).callers;
  ASSERT_EQ(callers.size(), 1U);
  ASSERT_EQ(callers[0].paths.size(), 2U);
  EXPECT_THAT(callers[0].paths[0].path, testing::ElementsAre("serve", "b"));
  EXPECT_EQ(callers[0].sums.total_ns, 80U);
}

TEST_F(CallTableTest, CallsThatWereOnlyCountedAreNoneThatDidNotReturn) {
  profile_.calls = {make([&](Calls& row) {
    row.time_ns = 2'000;
    row.function = put_;
    row.calls = 100;
    row.counted_only = 90;
    row.returned = 10;
  })};
  EXPECT_EQ(table().functions.at(0).not_returned(), 0U);
  EXPECT_EQ(table().functions.at(0).callers.at(0).name, "");
}

TEST_F(CallTableTest, WhatIsNotTimedNeitherReturnsNorFailsTo) {
  profile_.calls = {make([&](Calls& row) {
    row.time_ns = 2'000;
    row.function = take_;
    row.calls = 4;
    row.timed = false;
  })};
  EXPECT_FALSE(table().functions.at(0).not_returned());
}

TEST_F(CallTableTest, ASelectionTakesTheRowsOfItsTimeAndProcess) {
  profile_.calls = {make([&](Calls& row) {
                      row.time_ns = 2'000;
                      row.function = put_;
                      row.process = {0};
                      row.calls = 1;
                    }),
                    make([&](Calls& row) {
                      row.time_ns = 9'000;
                      row.function = put_;
                      row.process = {0};
                      row.calls = 20;
                    }),
                    make([&](Calls& row) {
                      row.time_ns = 2'000;
                      row.function = put_;
                      row.process = {1};
                      row.calls = 300;
                    })};
  EXPECT_EQ(table({.to_ns = 5'000}).functions.at(0).sums.calls, 301U);
  EXPECT_EQ(table({.pid = 13}).functions.at(0).sums.calls, 300U);
}

TEST_F(CallTableTest, AFunctionThatWasNeverCalledLeavesAnEmptyTableAndNotNone) {
  EXPECT_TRUE(table().functions.empty());
  profile_.meta.facts.clear();
  EXPECT_FALSE(make_call_table(profile_, {}));
}

}  // namespace
}  // namespace fathom::analysis
