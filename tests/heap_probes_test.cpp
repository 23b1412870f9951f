// A program that samples its own heap and reports it by otel_memory probes: the recording has exactly its
// reports, nothing is put into it, and the counters of its watchers return to zero whichever process is
// killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/heap_answer.h"
#include "support/process_code.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr double kInterval = 1 << 19;

struct Variant {
  const char* name;
  const char* program;
};
// Each compiler keeps the values elsewhere.
const Variant kVariants[] = {{"gcc_O0", PROBED_HEAP_O0},
                             {"gcc", PROBED_HEAP},
                             {"gcc_fixed", PROBED_HEAP_FIXED},
                             {"clang", PROBED_HEAP_CLANG},
                             {"clang_fixed", PROBED_HEAP_CLANG_FIXED}};

void expect_truth(const HeapAnswer& answer, const json& truth) {
  const HeapNumbers kept = answer.below("caller_of_keeps"), churned = answer.below("caller_of_churns");
  EXPECT_EQ(kept.bytes, truth.at("kept_weight"));
  EXPECT_NEAR(kept.calls, kept.bytes / 1000, 0.001);
  EXPECT_EQ(kept.live_bytes, truth.at("live_weight"));
  EXPECT_EQ(churned.bytes, truth.at("churn_weight"));
  EXPECT_EQ(churned.live_bytes, 0);
  EXPECT_EQ(answer.heap().events, truth.at("allocs").get<double>() + truth.at("frees").get<double>());
  EXPECT_EQ(answer.heap().mean_bytes, kInterval);
  EXPECT_EQ(answer.heap().lost_ring_full + answer.heap().lost_no_ring, 0U) << answer.losses();
  EXPECT_EQ(answer.heap().unwalked, 0U) << answer.losses();
  EXPECT_EQ(answer.heap().incomplete, 0U) << answer.losses();
}

class HeapProbes : public testing::TestWithParam<Variant> {
 protected:
  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_P(HeapProbes, OfALaunchedProgramGiveItsReports) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome =
      fathom({"record", "--heap", "-o", recording_, "--", GetParam().program, "rounds", "100", "4"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const json truth = json::parse(outcome.output);
  EXPECT_EQ(truth.at("allocs"), 800) << "somebody listened from the start on";
  EXPECT_GE(truth.at("semaphores"), 2) << "each breakpoint counts";
  const HeapAnswer answer(recording_);
  expect_truth(answer, truth);
  EXPECT_TRUE(answer.heap().from_start);
  EXPECT_EQ(answer.heap().mode, model::HeapMode::kSampled);
  EXPECT_EQ(answer.functions_hooked(model::HookKind::kProbe),
            (std::set<std::string>{"otel_memory:alloc", "otel_memory:free"}));
}

TEST_P(HeapProbes, OfARunningProgramGiveItsReportsAndNothingIsPutIntoIt) {
  FATHOM_NEEDS_BPF();
  Running target({GetParam().program, "rounds", "100", "2", folder_ / "go"});
  pause_ms(100);
  const std::string code = code_of(target.pid());
  const int mappings = mappings_of(target.pid());
  Running recorder = start_recording(recording_, {"--heap", "-p", std::to_string(target.pid())});
  EXPECT_EQ(tracer_mappings_of(target.pid()), 0);
  EXPECT_EQ(mappings_of(target.pid()), mappings);
  std::ofstream(folder_ / "go") << "\n";
  const Outcome program = target.wait(seconds(30));
  ASSERT_TRUE(program.ok()) << program.describe();
  const Outcome recorded = recorder.wait(seconds(30));
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  EXPECT_THAT(recorded.errors,
              testing::HasSubstr("no thread was stopped, and nothing was put into the program"));
  const json truth = json::parse(program.output);
  EXPECT_EQ(truth.at("allocs"), 400);
  expect_truth(HeapAnswer(recording_), truth);
  const Outcome said = fathom({"report", recording_, "--heap"});
  EXPECT_THAT(said.output, testing::HasSubstr("the program's own otel_memory probes"));
  EXPECT_THAT(said.output, testing::HasSubstr("fathom put nothing into the program"));
}

// Of eight bytes each argument of a heap is; others are not, and stand in parts of registers and in tables.
TEST_P(HeapProbes, ValuesOfEachWidthAreReadWhereTheCompilerHasThem) {
  FATHOM_NEEDS_BPF();
  std::vector<std::string> words = {"record", "-o", recording_};
  for (int i = 1; i <= 6; ++i) words.insert(words.end(), {"--probe", "truth:values:arg" + std::to_string(i)});
  words.insert(words.end(), {"--", GetParam().program, "values", "10"});
  const Outcome outcome = fathom(words);
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const Outcome said = fathom({"report", recording_, "--calls", "--json"});
  ASSERT_TRUE(said.ok()) << said.describe();
  const json calls = json::parse(said.output);
  ASSERT_EQ(calls.at("functions").size(), 1U) << "all six are of one place and one name";
  const json& row = calls.at("functions").at(0);
  EXPECT_EQ(row.at("calls"), 60);
  EXPECT_EQ(row.at("sized"), 50) << "a negative number is no size";
  EXPECT_EQ(row.at("bytes"), 10 * (200 + 60'000 + 70'000) + 3 * 45 + 45);
}

INSTANTIATE_TEST_SUITE_P(Compilers, HeapProbes, testing::ValuesIn(kVariants),
                         [](const auto& variant) { return variant.param.name; });

using HeapProbesOfOne = HeapProbes;

TEST_P(HeapProbesOfOne, AKilledRecorderLeavesAProgramWithoutWatchers) {
  FATHOM_NEEDS_BPF();
  Running target({GetParam().program, "watch", folder_ / "over"});
  pause_ms(100);
  const std::string code = code_of(target.pid());
  Running recorder = start_recording(recording_, {"--heap", "-p", std::to_string(target.pid())});
  // Names come from a thread of idle priority, on a busy machine long after the blocks.
  const auto saved = [&] { return HeapAnswer(recording_).all().bytes > 0; };
  EXPECT_TRUE(wait_until(saved, seconds(20)));
  std::ofstream(folder_ / "over") << "\n";
  pause_ms(200);
  EXPECT_FALSE(target.finished()) << "the kernel counts us as long as we listen";
  recorder.kill_and_wait();
  EXPECT_TRUE(wait_until([&] { return target.finished(); }, seconds(20)));
  const Outcome program = target.wait(seconds(1));
  ASSERT_TRUE(program.ok()) << program.describe();
  const json truth = json::parse(program.output);
  EXPECT_EQ(truth.at("semaphores"), 0);
  EXPECT_GT(truth.at("allocs"), 0);
  // What was saved up to then can be read.
  EXPECT_GT(HeapAnswer(recording_).all().bytes, 0);
}

TEST_P(HeapProbesOfOne, TheProgramIsAsItWasWhenTheRecordingHasEnded) {
  FATHOM_NEEDS_BPF();
  Running target({GetParam().program, "watch", folder_ / "over"});
  pause_ms(100);
  const std::string code = code_of(target.pid());
  ASSERT_FALSE(code.empty());
  const Outcome recorded =
      fathom({"record", "--heap", "-d", "1", "-o", recording_, "-p", std::to_string(target.pid())});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  EXPECT_EQ(code_of(target.pid()), code);
  std::ifstream maps("/proc/" + std::to_string(target.pid()) + "/maps");
  const std::string all{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_THAT(all, testing::HasSubstr("probed_heap"));
  EXPECT_THAT(all, testing::Not(testing::HasSubstr("[uprobes]")))
      << "the kernel emulates such an instruction";
  std::ofstream(folder_ / "over") << "\n";
  EXPECT_TRUE(wait_until([&] { return target.finished(); }, seconds(20)));
  EXPECT_TRUE(target.wait(seconds(1)).ok());
}

TEST_P(HeapProbesOfOne, AKilledProgramLeavesItsRecording) {
  FATHOM_NEEDS_BPF();
  Running target({GetParam().program, "watch", folder_ / "never"});
  Running recorder = start_recording(recording_, {"--heap", "-p", std::to_string(target.pid())});
  pause_ms(500);
  target.send(SIGKILL);
  const Outcome recorded = recorder.wait(seconds(30));
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const HeapAnswer answer(recording_);
  EXPECT_GT(answer.below("caller_of_churns").bytes, 0);
  EXPECT_EQ(answer.heap().lost_ring_full, 0U);
}

// The numbers of both are in the file of the child: it was forked with the breakpoints in it, and is none of the targets.
TEST_P(HeapProbesOfOne, AForkedProcessRunsOnAndIsNotMixedIn) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome = fathom({"record", "--heap", "-o", recording_, "--", GetParam().program, "fork"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const json truth = json::parse(outcome.output);
  expect_truth(HeapAnswer(recording_), truth);
}

TEST_P(HeapProbesOfOne, WhereEveryCallOrEveryBlockIsAskedForTheTracerIsPlaced) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  for (const char* option : {"--heap=exact", "--each-block"}) {
    const Outcome outcome =
        fathom({"record", "--heap", option, "-o", recording_, "--", GetParam().program, "rounds", "10", "1"});
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    EXPECT_EQ(json::parse(outcome.output).at("allocs"), 0) << option << ": nobody listens to the probes";
    const HeapAnswer answer(recording_);
    EXPECT_TRUE(answer.functions_hooked(model::HookKind::kProbe).empty()) << option;
    EXPECT_FALSE(answer.functions_hooked(model::HookKind::kEntry).empty()) << option;
  }
}

// Live memory could not be reported.
TEST_P(HeapProbesOfOne, TheTracerIsPlacedIfAProgramReportsNoFrees) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome =
      fathom({"record", "--heap", "-o", recording_, "--", PROBED_HEAP_NO_FREES, "rounds", "10", "1"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_EQ(json::parse(outcome.output).at("allocs"), 0);
  const HeapAnswer answer(recording_);
  EXPECT_FALSE(answer.functions_hooked(model::HookKind::kEntry).empty());
  EXPECT_THAT(answer.profile().quality.notes,
              testing::Contains(testing::HasSubstr("they do not report frees")));
}

TEST_P(HeapProbesOfOne, ALibraryThatIsLoadedLaterIsListenedToAsWell) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome =
      fathom({"record", "--heap", "-o", recording_, "--", GetParam().program, "load", PROBED_LIBRARY});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const json truth = json::parse(outcome.output);
  EXPECT_EQ(truth.at("library_weight"), 100.0 * (1 << 20));
  const HeapAnswer answer(recording_);
  EXPECT_EQ(answer.below("library_tells").bytes, truth.at("library_weight"));
  EXPECT_EQ(answer.below("library_tells").live_bytes, 50.0 * (1 << 20));
  EXPECT_EQ(answer.below("caller_of_keeps").bytes, truth.at("kept_weight"));
}

// Reported and recorded, or reported and lost: nothing else.
TEST_P(HeapProbesOfOne, WhatFindsNoRoomIsCounted) {
  FATHOM_NEEDS_BPF();
  Running target({GetParam().program, "rounds", "40000", "2", folder_ / "go"});
  pause_ms(100);
  Running recorder = start_recording(recording_, {"--heap", "-p", std::to_string(target.pid())});
  recorder.send(SIGSTOP);
  pause_ms(100);
  std::ofstream(folder_ / "go") << "\n";
  const Outcome program = target.wait(seconds(40));
  recorder.send(SIGCONT);
  ASSERT_TRUE(program.ok()) << program.describe();
  const json truth = json::parse(program.output);
  const Outcome recorded = recorder.wait(seconds(30));
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const HeapAnswer answer(recording_);
  EXPECT_GT(answer.heap().lost_ring_full, 0U);
  EXPECT_EQ(answer.heap().events + answer.heap().lost_ring_full,
            truth.at("allocs").get<std::uint64_t>() + truth.at("frees").get<std::uint64_t>());
  EXPECT_THAT(answer.profile().quality.notes,
              testing::Contains(testing::HasSubstr("heap: a ring was full: ")));
}

// What it says is not checked, and cannot break more than its own numbers.
TEST_P(HeapProbesOfOne, AProgramMayLie) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome =
      fathom({"record", "--heap", "-o", recording_, "--", GetParam().program, "lie", "20000"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  EXPECT_EQ(answer.heap().events + answer.heap().lost_ring_full, 40'000U);
  for (const char* metric : {"heap-live", "heap-allocated", "heap-peak"}) {
    const Outcome said = fathom({"report", recording_, "--heap", "--metric", metric});
    EXPECT_TRUE(said.ok()) << metric << ": " << said.describe();
  }
  EXPECT_EQ(fathom({"leaks", recording_}).signal, 0);
}

// The shell has no probes and gets the tracer; the program that takes its place has them.
TEST_P(HeapProbesOfOne, AProgramThatIsExecutedLaterIsListenedTo) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom({"record", "--heap", "-o", recording_, "--", "/bin/sh", "-c",
                                  std::string("exec ") + GetParam().program + " rounds 50 2"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const json truth = json::parse(outcome.output);
  EXPECT_EQ(truth.at("allocs"), 200) << "it was held before its first instruction";
  const HeapAnswer answer(recording_);
  EXPECT_EQ(answer.below("caller_of_keeps").bytes, truth.at("kept_weight"));
  EXPECT_EQ(answer.below("caller_of_churns").live_bytes, 0);
}

// Its own file again: the earlier breakpoints would be in it, and each event be reported twice.
TEST_P(HeapProbesOfOne, AProgramThatBecomesItselfIsListenedToOnce) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome =
      fathom({"record", "--heap", "-o", recording_, "--", GetParam().program, "again", "50"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const json truth = json::parse(outcome.output);  // of the second one, which does the same as the first
  const HeapAnswer answer(recording_);
  ASSERT_EQ(answer.heaps(), 2U);
  EXPECT_EQ(answer.below("caller_of_keeps").bytes, 2 * truth.at("kept_weight").get<double>());
  EXPECT_EQ(answer.below("caller_of_churns").bytes, 2 * truth.at("churn_weight").get<double>());
  EXPECT_EQ(answer.below("caller_of_keeps").live_bytes, truth.at("live_weight").get<double>())
      << "what the first one had is gone";
  EXPECT_TRUE(answer.heap().image_ended);
  EXPECT_EQ(answer.profile().meta.facts.at("heap_probe_hits"),
            std::to_string(2 * (truth.at("allocs").get<int>() + truth.at("frees").get<int>())));
}

// Another engine cannot listen: the message says what to do.
TEST_P(HeapProbesOfOne, WithoutBpfTheTracerIsPlacedAndTheReasonReported) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom({"record", "--heap", "--engine", "perf", "-o", recording_, "--",
                                  GetParam().program, "rounds", "10", "1"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  EXPECT_FALSE(answer.functions_hooked(model::HookKind::kEntry).empty());
  EXPECT_THAT(answer.profile().quality.notes,
              testing::Contains(testing::HasSubstr("only engine bpf can read them; the tracer is placed")));
}

TEST_P(HeapProbesOfOne, ThePlanIsReportedBefore) {
  FATHOM_NEEDS_BPF();
  Running target({GetParam().program, "watch", folder_ / "never"});
  pause_ms(100);
  const std::string pid = std::to_string(target.pid());
  const Outcome dry = fathom({"record", "--heap", "--dry-run", "-p", pid});
  ASSERT_TRUE(dry.ok()) << dry.describe();
  EXPECT_THAT(dry.output, testing::HasSubstr("otel_memory probes of its own"));
  EXPECT_THAT(dry.output, testing::HasSubstr("alloc at 3 places, free at"));
  const Outcome doctor = fathom({"doctor", "-p", pid});
  EXPECT_THAT(doctor.output, testing::HasSubstr("It has otel_memory heap probes"));
}

TEST_P(HeapProbesOfOne, TheProbesAreCountedLikeFunctions) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome =
      fathom({"record", "--probe", "otel_memory:alloc:arg3", "--probe", "otel_memory:free", "--probe-limit",
              "10000000", "-o", recording_, "--", GetParam().program, "rounds", "100", "2"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const json truth = json::parse(outcome.output);
  EXPECT_GE(truth.at("semaphores"), 2);
  const Outcome said = fathom({"report", recording_, "--calls", "--json"});
  ASSERT_TRUE(said.ok()) << said.describe();
  std::map<std::string, json> rows;
  const json calls = json::parse(said.output);
  for (const json& row : calls.at("functions")) rows[row.at("name")] = row;
  ASSERT_TRUE(rows.contains("otel_memory:alloc")) << said.output;
  EXPECT_EQ(rows["otel_memory:alloc"].at("calls"), truth.at("allocs"));
  EXPECT_EQ(rows["otel_memory:alloc"].at("bytes"),
            truth.at("kept_weight").get<double>() + truth.at("churn_weight").get<double>());
  EXPECT_FALSE(rows["otel_memory:alloc"].at("timed"));
  EXPECT_EQ(rows["otel_memory:free"].at("calls"), truth.at("frees"));
  std::map<std::string, int> callers;
  for (const json& caller : rows["otel_memory:alloc"].at("callers"))
    callers[caller.at("name")] = caller.at("calls");
  EXPECT_THAT(callers,
              testing::ElementsAre(testing::Pair("site_churns", 200), testing::Pair("site_keeps", 200)));
}

// Stacks are walked up to a limit; whatever comes beyond it, the sums are true.
TEST_P(HeapProbesOfOne, BeyondTheLimitOnlyStacksAreMissing) {
  FATHOM_NEEDS_BPF();
  const Outcome outcome =
      fathom({"record", "--heap", "-o", recording_, "--", GetParam().program, "rounds", "8000", "2"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const json truth = json::parse(outcome.output);
  const HeapAnswer answer(recording_);
  EXPECT_EQ(answer.all().bytes,
            truth.at("kept_weight").get<double>() + truth.at("churn_weight").get<double>());
  EXPECT_EQ(answer.all().live_bytes, truth.at("live_weight"));
  EXPECT_EQ(answer.heap().events, truth.at("allocs").get<double>() + truth.at("frees").get<double>());
  EXPECT_EQ(answer.heap().lost_ring_full, 0U);
}

INSTANTIATE_TEST_SUITE_P(Optimised, HeapProbesOfOne, testing::Values(kVariants[1]),
                         [](const auto& variant) { return variant.param.name; });

}  // namespace
}  // namespace fathom::support
