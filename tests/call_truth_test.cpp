// Calls of functions against what the program itself counted: launched and attached, with and without a limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;

json calls_in(const std::string& recording) {
  const Outcome said = fathom({"report", recording, "--calls", "--json"});
  EXPECT_TRUE(said.ok()) << said.describe();
  return json::parse(said.output);
}

json function(const json& calls, const std::string& name) {
  for (const json& row : calls.at("functions"))
    if (row.at("name") == name) return row;
  ADD_FAILURE() << "no calls of " << name << " in " << calls.dump(1);
  return {};
}

// The sizes are asked for in each of their ways.
const std::vector<std::string> kProbes = {
    "known_sleep",        "known_recursion", "known_throw",      "known_jump",       "known_target",
    "known_tail",         "known_branch",    "known_switch",     "known_write:arg2", "known_fail:ret",
    "known_value:arg1+8", "known_often",     "known_thread_end", "known_long"};

std::vector<std::string> with_probes(std::vector<std::string> words,
                                     const std::vector<std::string>& probes = kProbes) {
  for (const std::string& probe : probes) words.insert(words.end(), {"--probe", probe});
  return words;
}

void expect_truth(const json& calls, const json& truth) {
  const int rounds = truth.at("rounds");
  const auto of = [&](const std::string& name) { return function(calls, name); };
  const auto expect = [&](const std::string& name, int count, int not_returned) {
    const json row = of(name);
    EXPECT_EQ(row.at("calls"), count) << name;
    EXPECT_TRUE(row.at("timed")) << name;
    EXPECT_EQ(row.at("not_returned"), not_returned) << name;
    EXPECT_EQ(row.at("counted_only"), 0) << name;
  };
  expect("known_sleep", 3 * rounds, 0);
  expect("known_recursion", truth.at("recursion"), 0);
  expect("known_throw", rounds, truth.at("caught"));
  expect("known_jump", rounds, truth.at("jumped"));
  expect("known_tail", rounds, 0);
  expect("known_branch", rounds, 0);
  expect("known_switch", rounds, 0);
  expect("known_value", rounds, 0);
  expect("known_often", 1000 * rounds, 0);
  expect("known_thread_end", 2 * rounds, rounds);

  EXPECT_EQ(of("known_write").at("bytes"), truth.at("argument_bytes"));
  EXPECT_EQ(of("known_value").at("bytes"), truth.at("value_bytes"));
  EXPECT_EQ(of("known_fail").at("bytes"), (rounds + 1) / 2 * 100) << "a negative result is no size";
  EXPECT_EQ(of("known_fail").at("sized"), (rounds + 1) / 2);

  // What the function measured inside of itself, and its callers around their calls of it.
  const json sleep = of("known_sleep");
  EXPECT_GE(sleep.at("total_ns"), truth.at("slept_inside_ns"));
  EXPECT_LE(sleep.at("total_ns"), truth.at("slept_outside_ns"));
  EXPECT_GE(sleep.at("longest_ns"), 5'000'000);
  std::map<std::string, int> callers;
  for (const json& caller : sleep.at("callers")) callers[caller.at("name")] = caller.at("calls");
  EXPECT_THAT(callers, testing::ElementsAre(testing::Pair("caller_of_few", rounds),
                                            testing::Pair("caller_of_many", 2 * rounds)));
  EXPECT_EQ(sleep.at("callers").at(0).at("paths").at(0).at("path").at(1), "main");
}

TEST(CallTruth, CallsOfALaunchedProgramAreCountedTimedAndMeasured) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  std::vector<std::string> words =
      with_probes({"record", "--probe-limit", "10000000", "-o", folder / "x.fathom"});
  words.insert(words.end(), {"--", KNOWN_CALLS, "10"});
  const Outcome program = fathom(words);
  ASSERT_TRUE(program.ok()) << program.describe();
  const json truth = json::parse(program.output);
  expect_truth(calls_in(folder / "x.fathom"), truth);
}

TEST(CallTruth, BeyondTheLimitCallsAreCountedAllTheSame) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  std::vector<std::string> words =
      with_probes({"record", "--probe-limit", "100", "-o", folder / "x.fathom"}, {"known_often"});
  words.insert(words.end(), {"--", KNOWN_CALLS, "10"});
  const Outcome program = fathom(words);
  ASSERT_TRUE(program.ok()) << program.describe();
  const json often = function(calls_in(folder / "x.fathom"), "known_often");
  EXPECT_EQ(often.at("calls"), 10'000);
  EXPECT_GT(often.at("counted_only"), 5'000);
  EXPECT_EQ(often.at("not_returned"), 0);
}

TEST(CallTruth, AttachedInTheMidstOfACallItSeesThoseThatBeginLater) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  Running target({KNOWN_CALLS, "10", folder / "go"});
  Running recorder = start_recording(
      folder / "x.fathom", with_probes({"--probe-limit", "10000000", "-p", std::to_string(target.pid())}));
  std::ofstream(folder / "go") << "\n";
  const Outcome program = target.wait(std::chrono::seconds(30));
  ASSERT_TRUE(program.ok()) << program.describe();
  const Outcome recorded = recorder.wait(std::chrono::seconds(30));
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const json calls = calls_in(folder / "x.fathom");
  expect_truth(calls, json::parse(program.output));
  for (const json& row : calls.at("functions"))
    EXPECT_NE(row.at("name"), "known_long") << "it was called before, and its end alone is no call";
}

// The breakpoints of several processes are taken out one after the other, those at the ends of functions among the first.
TEST(CallTruth, OfSeveralProcessesThatRunOnEveryReturnIsSeen) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  Running first({KNOWN_CALLS, "4000", folder / "go"}), second({KNOWN_CALLS, "4000", folder / "go"});
  std::ofstream(folder / "go") << "\n";
  const Outcome recorded =
      fathom(with_probes({"record", "-d", "1.5", "--probe-limit", "10000000", "-o", folder / "x.fathom", "-p",
                          std::to_string(first.pid()), "-p", std::to_string(second.pid())},
                         {"known_recursion", "known_switch"}));
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const json calls = calls_in(folder / "x.fathom");
  EXPECT_GT(function(calls, "known_recursion").at("calls"), 100);
  // Of each process one may have been going on, with all calls inside of it.
  EXPECT_LE(function(calls, "known_recursion").at("not_returned"), 20);
  EXPECT_LE(function(calls, "known_switch").at("not_returned"), 2);
}

TEST(CallTruth, AKilledRecorderLeavesAProgramThatRunsOnAndAFileWithTheCallsSoFar) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  Running target({KNOWN_CALLS, "400", folder / "go"});
  Running recorder = start_recording(
      folder / "x.fathom", with_probes({"-p", std::to_string(target.pid())}, {"known_sleep", "known_tail"}));
  std::ofstream(folder / "go") << "\n";
  pause_ms(2500);
  recorder.kill_and_wait();
  const Outcome program = target.wait(std::chrono::seconds(30));
  ASSERT_TRUE(program.ok()) << program.describe();
  const json calls = calls_in(folder / "x.fathom");
  EXPECT_GT(function(calls, "known_sleep").at("calls"), 100);
  EXPECT_LT(function(calls, "known_tail").at("calls"), 400) << "nothing was counted after that";
}

TEST(CallTruth, AFunctionOfALibraryIsProbedInTheTargetAlone) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome program = fathom(
      {"record", "--probe", "nanosleep@libc.so.6", "-o", folder / "x.fathom", "--", KNOWN_CALLS, "10"});
  ASSERT_TRUE(program.ok()) << program.describe();
  const json row = function(calls_in(folder / "x.fathom"), "nanosleep");
  EXPECT_EQ(row.at("calls"), 30);
  EXPECT_EQ(row.at("not_returned"), 0);
  EXPECT_EQ(row.at("callers").at(0).at("name"), "known_sleep");
}

TEST(CallTruth, OfAStrippedProgramByItsSeparateDebugFile) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_PROGRAM("objcopy");
  const TempDir folder;
  const std::string stripped = folder / "stripped", debug = folder / "stripped.debug";
  ASSERT_TRUE(run({"objcopy", "--only-keep-debug", KNOWN_CALLS, debug}).ok());
  ASSERT_TRUE(run({"objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, KNOWN_CALLS, stripped}).ok());
  std::vector<std::string> words =
      with_probes({"record", "--probe-limit", "10000000", "-o", folder / "x.fathom"});
  words.insert(words.end(), {"--", stripped, "10"});
  const Outcome program = fathom(words);
  ASSERT_TRUE(program.ok()) << program.describe();
  expect_truth(calls_in(folder / "x.fathom"), json::parse(program.output));
}

TEST(CallTruth, WhatCannotBeProbedIsRefusedBeforeTheProgramRuns) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const auto refused = [&](const std::string& probe) {
    return fathom({"record", "--probe", probe, "-o", folder / "x.fathom", "--", "/usr/bin/env", "touch",
                   folder / "ran"});
  };
  const Outcome unknown = refused("no_such_function_here");
  EXPECT_EQ(unknown.exit_status, 3) << unknown.describe();
  EXPECT_THAT(unknown.errors, testing::HasSubstr("there is no function 'no_such_function_here'"));
  EXPECT_EQ(refused("malloc:arg9").exit_status, 2);
  EXPECT_NE(::access((folder / "ran").c_str(), F_OK), 0);
}

TEST(CallTruth, OtherEnginesRefuseProbes) {
  const TempDir folder;
  const Outcome said =
      fathom({"record", "--engine", "perf", "--probe", "main", "-o", folder / "x.fathom", "--", "true"});
  EXPECT_EQ(said.exit_status, 2) << said.describe();
  EXPECT_THAT(said.errors, testing::HasSubstr("needs the engine bpf"));
}

}  // namespace
}  // namespace fathom::support
