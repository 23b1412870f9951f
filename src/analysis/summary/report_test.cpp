#include "analysis/summary/report.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/hand_made_profile.h"
#include "analysis/stacks/kept_look.h"
#include "present/sentences/quality_sentences.h"
#include "present/sentences/report_sentences.h"

namespace fathom::analysis {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string summary_of(const model::Profile& profile, const ReportOptions& options = {}) {
  const Result<Report> report = make_report(profile, options);
  return report ? fmt::format("{}", fmt::join(present::sentences_of(*report), " ")) : report.error().message;
}

std::string findings_of(const model::Profile& profile) {
  std::string text;
  const Report report = make_report(profile, {}).value();
  for (const present::Complaint& finding : present::complaints_of(report)) {
    text += finding.text + " try: " + finding.remedy + "\n";
  }
  return text;
}

// One sample of 250 us in a file of 1 us uses no 250 CPUs.
TEST(Activity, SamplesThatStandForMoreTimeThanThereWasGiveNoRate) {
  EXPECT_EQ((Activity{.duration_s = 2, .cpu_s = 3, .cpus = 2}).cpus_used(), 1.5);
  EXPECT_EQ((Activity{.duration_s = 1e-6, .cpu_s = 250e-6, .cpus = 2}).cpus_used(), std::nullopt);
  EXPECT_EQ((Activity{.duration_s = 1, .cpu_s = 4, .exact = true, .cpus = 2}).cpus_used(), 4);
  EXPECT_EQ((Activity{.duration_s = 1, .cpu_s = 4}).cpus_used(), 4) << "of how many is unknown";
  EXPECT_EQ(Activity{}.cpus_used(), std::nullopt);
}

TEST(Summary, SaysWhatWasRecordedHowBusyItWasAndWhereTheTimeWent) {
  const model::Profile profile = small_server();
  const std::string text = summary_of(profile);
  EXPECT_THAT(text,
              HasSubstr("hand (pid 10): 900 CPU samples in 10.00 s (cpu-clock at 100 Hz, engine bpf)."));
  EXPECT_THAT(text, HasSubstr("9.10 s of CPU time: 0.91 of 2 CPUs on average"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "<server::tree::Node<alloc::string::String> as server::tree::Visit>::walk in server, 33.3 % ±3.1"));
  EXPECT_THAT(text, HasSubstr("largest module is server, 67.1 %"));
  EXPECT_THAT(text, HasSubstr("busiest of 2 threads is server (tid 10), 77.8 %"));
}

TEST(Summary, SaysThatFewSamplesAreUncertain) {
  EXPECT_THAT(summary_of(small_server()), HasSubstr("uncertain by up to ±3.3 points"));
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"f"})}), 1000);
  EXPECT_THAT(summary_of(hand.profile), Not(HasSubstr("uncertain")));
}

TEST(Summary, SaysAtOnceThatTheProcessUsedLittleCpuTime) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app", 300'000'000);
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"f"})}), 30);
  EXPECT_THAT(summary_of(hand.profile), HasSubstr("3.0 % of one CPU"));
}

TEST(Summary, WithoutExactTimesTheSamplesGiveTheCpuTime) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"f"})}), 500);
  EXPECT_THAT(summary_of(hand.profile), HasSubstr("5.00 s of CPU time (estimated from samples): 0.50 of 2"));
}

// A shell loop over thousands of programs: it reported 0.20 CPUs, but the samples amount to 0.44.
TEST(Summary, OfProcessesThatTheKernelHasNotBookedTheSamplesGiveTheCpuTime) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app", 2'000'000'000);
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"f"})}), 500);
  EXPECT_THAT(summary_of(hand.profile), HasSubstr("5.00 s of CPU time (estimated from samples): 0.50 of 2"));
}

TEST(Summary, AnEmptyRecordingIsNoError) {
  HandMade hand;
  hand.thread(hand.process(1, "app"), 1, "app");
  EXPECT_THAT(summary_of(hand.profile), HasSubstr("Nothing was sampled: it used no CPU time."));
}

// A program of some milliseconds has a single sample at times, and it may have hit what fathom runs in the kernel.
TEST(Summary, ARecordingWithSamplesOfFathomAloneIsNoError) {
  HandMade hand;
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  hand.sample(hand.thread(hand.process(1, "app"), 1, "app"),
              hand.stack({hand.frame(kernel, {"__schedule"}),
                          hand.frame(kernel, {"bpf_prog_f2799eaf95f10592_process_forked"})}),
              1);
  const std::string summary = summary_of(hand.profile);
  EXPECT_THAT(summary, HasSubstr("0 CPU samples"));
  EXPECT_THAT(summary, Not(HasSubstr("leaves no samples")));
}

TEST(Selection, ThatLeavesNothingIsAnErrorThatSaysWhy) {
  const model::Profile profile = small_server();
  EXPECT_THAT(summary_of(profile, {.selection = {.thread = "nobody"}}),
              HasSubstr("no samples of thread 'nobody'"));
  EXPECT_THAT(summary_of(profile, {.selection = {.metric = model::Metric::kOffCpu}}),
              HasSubstr("no samples of metric off-cpu"));
  EXPECT_THAT(summary_of(profile, {.selection = {.from_ns = 60'000'000'000}}),
              HasSubstr("no samples in this part of the recording"));
}

TEST(Selection, OfATimeInWhichAllThreadsWaitIsAReportOfTheirWaits) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto stack = hand.stack({hand.frame(hand.module("app"), {"nap"})});
  hand.sample(thread, stack, 10);
  hand.wait(thread, stack, "nanosleep", 1, 8000);
  const ReportOptions options{.selection = {.from_ns = 2'000'000'000, .to_ns = 3'000'000'000}};
  const auto report = make_report(hand.profile, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->tree.samples, 0u);
  ASSERT_TRUE(report->waits);
  EXPECT_EQ(report->waits->waited.total_ns(), 1'000'000'000);
}

TEST(Quality, OfAGoodRecordingHasNoFindings) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"f"})}), 1000);
  EXPECT_EQ(findings_of(hand.profile), "");
}

TEST(Quality, CountsLossOfEveryCauseAgainstWhatShouldHaveArrived) {
  model::Profile profile = small_server();
  profile.quality.lost_ring_full = 60;
  profile.quality.lost_stack = 30;
  profile.quality.lost_disk = 10;
  const QualityView view = make_report(profile, {}).value().quality;
  EXPECT_EQ(view.lost, 100u);
  EXPECT_DOUBLE_EQ(view.lost_share, 0.1);
  EXPECT_THAT(
      findings_of(profile),
      HasSubstr(
          "10.0 % of the samples were lost, because the ring to user space was full. try: a lower rate"));
}

TEST(Quality, SaysWhatTheHostOfAVirtualMachineTookAway) {
  model::Profile profile = small_server();
  const auto stolen = [&] { return make_report(profile, {}).value().quality.stolen_share; };
  EXPECT_EQ(stolen(), std::nullopt);
  profile.meta.facts["stolen_percent"] = "10.0";
  EXPECT_DOUBLE_EQ(stolen().value(), 0.1);
  EXPECT_THAT(findings_of(profile), Not(HasSubstr("host")));
  profile.meta.facts["stolen_percent"] = "18.3";
  EXPECT_THAT(findings_of(profile), HasSubstr("took 18.3 % of its CPUs' busy time away"));
  for (const char* damaged : {"", "much", "1e9", "-1", "nan", "inf"}) {
    profile.meta.facts["stolen_percent"] = damaged;
    EXPECT_EQ(stolen(), std::nullopt) << damaged;
  }
}

TEST(Quality, SaysWhatTheLookAtAllThreadsLacks) {
  model::Profile profile = small_server();
  EXPECT_THAT(findings_of(profile), Not(HasSubstr("look at all threads")));
  profile.meta.facts[stacks::kLookMissedFact] = "unfinished";
  EXPECT_THAT(findings_of(profile), HasSubstr("The look at all threads near the end did not finish"));
  profile.meta.facts[stacks::kLookMissedFact] = "names";
  EXPECT_THAT(findings_of(profile), HasSubstr("The look at all threads near the end lacks some names"));
  profile.meta.facts[stacks::kLookMissedFact] = "damaged";
  EXPECT_THAT(findings_of(profile), Not(HasSubstr("look at all threads")));
}

TEST(Quality, StandsInTheOrderOfWhatItConcerns) {
  model::Profile profile = small_server();
  profile.meta.facts["stolen_percent"] = "18.3";
  profile.quality.lost_ring_full = 100;
  profile.quality.early_ends[0].count = 10;  // of 900 stacks: as likely as not less than 1 in 100
  std::vector<FindingKind> kinds;
  std::vector<bool> certain;
  const Report report = make_report(profile, {}).value();
  for (const Finding& finding : report.quality.findings) {
    kinds.push_back(finding.kind);
    certain.push_back(finding.is_certain);
  }
  EXPECT_THAT(kinds, ElementsAre(FindingKind::kStolen, FindingKind::kUnnamed, FindingKind::kLostToRing,
                                 FindingKind::kCutStacks));
  EXPECT_THAT(certain, ElementsAre(true, true, true, false));
}

TEST(Quality, NamesTheStrippedModuleAndTheWayToItsSymbols) {
  EXPECT_THAT(
      findings_of(small_server()),
      HasSubstr(
          ": pass its unstripped binary or debug file with --symbols DIR (to fathom report as well); the -dbgsym package and debuginfod-find have it"));
}

// execute_native_thread_routine of a stripped libstdc++ was 9 % of all frames of a program whose functions all have names.
TEST(Quality, HasNoWordForFramesWithoutANameThatOnlyPassThrough) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  const auto app = hand.module("app");
  const auto start = hand.unnamed(hand.module("libstdc++.so.6"), 0x10);
  hand.sample(thread, hand.stack({start, hand.frame(app, {"work"})}), 500);
  EXPECT_GT(make_report(hand.profile, {}).value().quality.unnamed_share, 0.4);
  EXPECT_THAT(findings_of(hand.profile), Not(HasSubstr("without a name")));
  hand.sample(thread, hand.stack({hand.frame(app, {"main"}), start}), 500);
  EXPECT_THAT(findings_of(hand.profile),
              HasSubstr("50.0 % of CPU time is in functions without a name, most of it in libstdc++.so.6"));
}

// One frame of thirty has no name, and it takes all the time.
TEST(Quality, ShowsHowGeneratedCodeThatTakesTheTimeGetsNames) {
  const auto findings_with = [](model::ModuleKind kind) {
    HandMade hand;
    const auto node = hand.module("node");
    std::vector<model::FrameId> frames;
    for (int i = 0; i < 30; ++i) frames.push_back(hand.frame(node, {"f" + std::to_string(i)}));
    frames.push_back(hand.unnamed(hand.module("[jit]", kind), 0x10));
    hand.sample(hand.thread(hand.process(1, "node"), 1, "node"), hand.stack(frames), 1000);
    return findings_of(hand.profile);
  };
  EXPECT_THAT(findings_with(model::ModuleKind::kAnonymous), HasSubstr("/tmp/perf-PID.map"));
  EXPECT_THAT(findings_with(model::ModuleKind::kFile), HasSubstr("--symbols DIR"));
}

TEST(Quality, SaysWhereAndWhyStacksAreCut) {
  EXPECT_THAT(findings_of(small_server()), HasSubstr("code without an unwind rule or frame pointer"));
}

TEST(Quality, AFileOfAnotherToolThatEndsEarlyIsCut) {
  model::Profile profile = small_server();
  profile.quality.truncated = true;
  profile.meta.engine = "import";
  EXPECT_THAT(findings_of(profile), HasSubstr("The file is cut short: it ends early"));
}

TEST(Quality, AThrottledKilledOrUndersampledRecordingIsReported) {
  model::Profile profile = small_server();
  profile.quality.lost_throttled = 1;
  profile.quality.truncated = true;
  profile.quality.expected_samples = 2000;
  const std::string text = findings_of(profile);
  EXPECT_THAT(text, HasSubstr("throttled sampling 1 time."));
  EXPECT_THAT(
      text,
      HasSubstr(
          "The recording has no last block: the recorder was killed, and the last second may be missing."));
  EXPECT_THAT(
      text,
      HasSubstr(
          "fathom received 45.0 % of the 2,000 samples expected from the CPU time used; the cause is unknown."));
}

// 5 s of CPU time at 999 Hz, in a recording of 10 s.
model::Profile busy_with_cost(const char* start_us, const char* recording_us, const char* naming_us) {
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, hand.stack({hand.frame(hand.module("app"), {"f"})}), 4995);
  model::Profile profile = std::move(hand.profile);
  profile.meta.frequency_hz = 999;
  profile.quality.profiler_cpu_ns = 3'000'000'000;
  profile.meta.facts["own_start_us"] = start_us;
  profile.meta.facts["own_recording_us"] = recording_us;
  profile.meta.facts["own_naming_us"] = naming_us;
  return profile;
}

TEST(Quality, StartAndNamesAreNoCostOfRecording) {
  EXPECT_EQ(findings_of(busy_with_cost("1000000", "20000", "1900000")), "");
}

TEST(Quality, WhatRecordingCostsIsWarnedOfWithWhatHelps) {
  model::Profile profile = busy_with_cost("50000", "2500000", "100000");
  EXPECT_EQ(findings_of(profile), "") << "no remedy is known, so it is a figure and no warning";
  profile.meta.frequency_hz = 9990;
  EXPECT_EQ(findings_of(profile), "") << "half a second of the target is too short to judge by";
  profile = busy_with_cost("50000", "2500000", "100000");
  profile.heap.heaps.emplace_back().mode = model::HeapMode::kExact;
  EXPECT_THAT(
      findings_of(profile),
      HasSubstr("The profiler itself used 2.50 s of CPU time while recording, 50.0 % of what it measured."));
}

TEST(Quality, AProcessThatOnlyWokeAThreadOfTheTargetIsNoneOfItsChildren) {
  model::Profile profile = busy_with_cost("50000", "2500000", "100000");
  for (int i = 0; i < 200; ++i) {
    model::Thread thread;
    thread.process = {static_cast<std::uint32_t>(profile.processes.size())};
    profile.processes.push_back(profile.processes[0]);
    profile.threads.push_back(thread);
  }
  EXPECT_EQ(findings_of(profile), "") << "200 processes are known, and one was recorded";
  for (model::Thread& thread : profile.threads) thread.ran_ns = 1'000;
  EXPECT_THAT(findings_of(profile), HasSubstr("--no-children"));
}

TEST(Quality, OneSampleOfTheTracerIsNotOneSamples) {
  CallTree tree;
  tree.unit = "samples";
  tree.total = 99;
  tree.tracer = 1;
  EXPECT_THAT(present::tracer_share_text(tree), EndsWith("of its CPU time, 1 sample"));
  tree.tracer = 1200;
  EXPECT_THAT(present::tracer_share_text(tree), EndsWith("of its CPU time, 1,200 samples"));
}

TEST(Quality, ADamagedFactOfTheCostIsNoCost) {
  for (const char* damaged : {"", "much", "-1", "nan", "inf", "1e300"})
    EXPECT_EQ(make_report(busy_with_cost("50000", damaged, "1"), {}).value().quality.own_cost, std::nullopt)
        << damaged;
}

TEST(Quality, AnIdleProgramHasNoMissingSamples) {
  model::Profile profile = small_server();
  profile.meta.frequency_hz = 999;
  profile.quality.expected_samples = 1280;  // 900 came: a program that runs for 9 us at a time
  EXPECT_THAT(
      findings_of(profile),
      HasSubstr(
          "fathom received 70.3 % of the 1,280 samples expected from the CPU time used; the cause is unknown."));
  profile.meta.facts["cpu_runs"] = "140000";
  EXPECT_THAT(findings_of(profile), Not(HasSubstr("samples arrived")));
  EXPECT_THAT(fathom::present::expected_samples_text(make_report(profile, {}).value()),
              HasSubstr(": it ran for 9.15 us at a time, and the timer fires some microseconds late"));
}

TEST(Quality, WhatWasLostOnTheWayIsNotMissingTwice) {
  model::Profile profile = small_server();
  profile.quality.expected_samples = 2000;
  profile.quality.lost_ring_full = 1100;
  EXPECT_THAT(findings_of(profile), Not(HasSubstr("samples arrived")));
  EXPECT_THAT(findings_of(profile), HasSubstr("because the ring to user space was full"));
}

TEST(Quality, AnImportedRowIsAsManySamplesAsItsCountSays) {
  HandMade hand;
  hand.sample(hand.thread(hand.process(1, "app"), 1, "app"),
              hand.stack({hand.frame(hand.module("app"), {"f"})}), 1);
  model::Profile profile = std::move(hand.profile);
  profile.samples.front().value = 700;
  profile.meta.engine = "import";
  EXPECT_EQ(make_report(profile, {}).value().quality.samples, 700u);
  model::Sample wait = profile.samples.front();
  wait.metric = model::Metric::kOffCpu;
  wait.value = 5'000'000;
  profile.samples.push_back(wait);
  EXPECT_EQ(make_report(profile, {}).value().quality.samples, 700u) << "a time is no number of samples";
  profile.samples.pop_back();
  profile.meta.facts["unit"] = "ns";
  EXPECT_EQ(make_report(profile, {}).value().quality.samples, 1u);
}

TEST(Summary, ARowThatManyThreadsShareIsNotOneThread) {
  HandMade hand;
  const auto process = hand.process(1, "app");
  const auto stack = hand.stack({hand.frame(hand.module("app"), {"f"})});
  hand.sample(hand.thread(process, 1, "app"), stack, 600);
  hand.sample(hand.thread(process, 2, "worker"), stack, 300);
  EXPECT_THAT(summary_of(hand.profile), HasSubstr("The busiest of 2 threads is app (tid 1), 66.7 %"));
  hand.sample(hand.thread(process, 0, "job"), stack, 100);
  EXPECT_THAT(summary_of(hand.profile),
              HasSubstr("The busiest of 2 threads and more is app (tid 1), 60.0 %"));
}

TEST(Summary, OfTooLittleCpuTimeForASampleSaysHowLittle) {
  HandMade hand;
  hand.thread(hand.process(1, "app"), 1, "app", 2'100'000);
  EXPECT_THAT(summary_of(hand.profile), HasSubstr("Nothing was sampled, of 2.1 ms of CPU time at 100 Hz."));
}

TEST(Quality, AWalkEndOfALaterVersionIsNoError) {
  model::Profile profile = small_server();
  profile.quality.early_ends.push_back({250, {0}, 5});
  EXPECT_EQ(make_report(profile, {}).value().quality.early_ends.size(), 2u);
}

TEST(DefaultMetric, IsCpuWhereThereIsCpu) {
  EXPECT_EQ(default_metric(small_server()), model::Metric::kCpu);
  HandMade hand;
  const auto thread = hand.thread(hand.process(1, "app"), 1, "app");
  hand.sample(thread, {0}, 1, 0, model::Metric::kOffCpu);
  EXPECT_EQ(default_metric(hand.profile), model::Metric::kOffCpu);
}

// It said that half of the samples had not arrived, and not why.
TEST(Quality, OfTooFewSamplesNamesTheCauseWhereItIsKnown) {
  const auto finding_of = [](std::uint64_t throttled, const char* stolen_percent) {
    model::Profile profile = small_server();
    profile.meta.frequency_hz = 1000;
    profile.quality.expected_samples = 4 * static_cast<double>(profile.quality.samples) + 100'000;
    profile.quality.lost_throttled = throttled;
    profile.meta.facts["cpu_runs"] = "1000";
    profile.meta.facts["stolen_percent"] = stolen_percent;
    const Report report = make_report(profile, {}).value();
    std::string text;
    for (const Finding& finding : report.quality.findings)
      if (finding.kind == FindingKind::kFewReceived) text = present::complaint_of(finding).text;
    return text;
  };
  EXPECT_THAT(finding_of(0, "0"), testing::HasSubstr("; the cause is unknown."));
  EXPECT_THAT(finding_of(20'000, "0"), testing::HasSubstr("because the kernel throttled the event."));
  EXPECT_THAT(finding_of(0, "20"),
              testing::HasSubstr("because the host took the CPUs away; the cause of the rest is unknown."));
}

}  // namespace
}  // namespace fathom::analysis
