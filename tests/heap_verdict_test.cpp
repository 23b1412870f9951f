// Programs whose memory has a known course in time get the verdict that belongs to it, at the right function,
// and no other one that would send a reader the wrong way.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "model/store/reader.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;

constexpr double kSeconds = 4;

// How late a thread that wants to run every 5 ms was: the CPU that other programs leave, measured while the
// code under test runs.
class Witness {
 public:
  Witness()
      : thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
            std::this_thread::sleep_until(due);
            const std::chrono::duration<double> late = std::chrono::steady_clock::now() - due;
            late_s_ = std::max(late_s_.load(), late.count());
          }
        }) {}
  double late_s() const { return late_s_; }

 private:
  std::atomic<double> late_s_ = 0;
  std::jthread thread_;
};

class HeapVerdictTruth : public testing::Test {
 protected:
  static constexpr double kInTime_s = 0.1;

  // Runs the pattern under `record` and keeps what the report says. A program that did not come to its work in time had
  // another course than the one that is known, and one that was looked at too seldom has none: then it runs again, three
  // times at most. Who was late every time because others took the CPUs skips the test.
  void record(const std::string& pattern,
              const std::vector<std::string>& options = {"--heap=exact", "--lossless"},
              double seconds = kSeconds) {
    std::vector<std::string> arguments{"record", "-o", recording_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", HEAP_PATTERNS, pattern, fmt::format("{}", seconds)});
    std::string why;
    bool others_took_the_cpus = true;
    for (int run = 0; run < 3; ++run) {
      const Witness witness;
      const Outcome outcome = fathom(arguments);
      ASSERT_TRUE(outcome.ok()) << outcome.describe();
      truth_ = json::parse(outcome.output);
      why = what_came_too_late(seconds);
      if (why.empty()) break;
      others_took_the_cpus = others_took_the_cpus && witness.late_s() > kInTime_s / 4;
    }
    // A recorder that is late on an idle machine has no such excuse: its verdicts are checked.
    if (!why.empty() && others_took_the_cpus) GTEST_SKIP() << "other programs took the CPUs: " << why;
    const Outcome report = fathom({"report", recording_, "--json"});
    ASSERT_TRUE(report.ok()) << report.describe();
    heap_ = json::parse(report.output).at("heap");
  }
  // Of the program's course, and of the slices in which it was recorded; empty: nothing.
  std::string what_came_too_late(double seconds) const {
    constexpr double kSlice_s = 0.05;
    const double late_s = truth_.at("late_s").get<double>();
    if (late_s > kInTime_s) return fmt::format("a tick came {:.2f} s late", late_s);
    const auto profile = store::read(recording_);
    if (!profile) return profile.error().message;
    // The heap with most of them is the allocator's; the program's own mappings are reported once a second.
    struct Slices {
      double longest_s = 0;
      int count = 0;
    };
    std::map<std::uint32_t, Slices> of_heap;
    for (const model::HeapSlice& slice : profile->heap.slices) {
      Slices& slices = of_heap[slice.heap.value];
      slices.longest_s =
          std::max(slices.longest_s, static_cast<double>(slice.end_ns - slice.start_ns) * 1e-9);
      ++slices.count;
    }
    Slices most;
    for (const auto& [heap, slices] : of_heap)
      if (slices.count > most.count) most = slices;
    if (most.longest_s > kSlice_s + kInTime_s)
      return fmt::format("a slice of the heap is {:.2f} s long", most.longest_s);
    if (most.count < 0.75 * seconds / kSlice_s)
      return fmt::format("{} slices of the heap in {} s", most.count, seconds);
    return "";
  }

  // The first verdict of the kind, about the function where one is given; null if there is none.
  json find(const std::string& kind, const std::string& function = "") const {
    for (const json& verdict : heap_.at("verdicts"))
      if (verdict.at("kind") == kind && (function.empty() || verdict.at("function") == function))
        return verdict;
    return {};
  }
  json about_pattern(const std::string& kind) const { return find(kind, truth_.at("function")); }
  double bytes() const { return truth_.at("bytes").get<double>(); }
  double seconds() const { return truth_.at("seconds").get<double>(); }
  std::string all() const {
    std::string text;
    for (const json& verdict : heap_.at("verdicts"))
      text += verdict.at("kind").get<std::string>() + ": " + verdict.at("sentence").get<std::string>() + "\n";
    return text;
  }
  // Sanity of every verdict: it says something, and what to do next.
  void expect_complete() const {
    for (const json& verdict : heap_.at("verdicts")) {
      EXPECT_GT(verdict.at("sentence").get<std::string>().size(), 20u) << verdict;
      EXPECT_GT(verdict.at("advice").get<std::string>().size(), 10u) << verdict;
      EXPECT_EQ(verdict.at("confidence") == "high", verdict.at("doubts").empty()) << verdict;
    }
  }
  void expect_no_leak() const {
    EXPECT_TRUE(find("leak").is_null()) << all();
    EXPECT_TRUE(find("growing").is_null()) << all();
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
  json truth_, heap_;
};

#define RECORD(...)    \
  record(__VA_ARGS__); \
  if (HasFatalFailure() || IsSkipped()) return

// The slope to a tenth: the program's own clock and ticks are not better than that on a busy machine.
#define EXPECT_SLOPE(verdict, expected) \
  EXPECT_NEAR((verdict).at("numbers").at("bytes_per_s").get<double>(), expected, 0.1 * (expected)) << all()

TEST_F(HeapVerdictTruth, ALeakIsFoundAtItsFunction) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("leak");
  const json leak = about_pattern("leak");
  ASSERT_FALSE(leak.is_null()) << all();
  EXPECT_SLOPE(leak, bytes() / seconds());
  EXPECT_GT(leak.at("numbers").at("growth_share_percent").get<double>(), 95) << all();
  EXPECT_EQ(leak.at("numbers").at("freed_percent").get<double>(), 0) << all();
  EXPECT_EQ(heap_.at("verdicts").at(0).at("kind"), "growing") << all();
  EXPECT_TRUE(find("leak", "site_request").is_null()) << all();
  expect_complete();
}

TEST_F(HeapVerdictTruth, ALeakIsFoundBySamples) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("leak", {"--heap", "--heap-interval", "4096"});
  const json leak = about_pattern("leak");
  ASSERT_FALSE(leak.is_null()) << all();
  const json interval = leak.at("trend").at("slope_interval");
  EXPECT_LT(interval.at(0).get<double>(), bytes() / seconds()) << all();
  EXPECT_GT(interval.at(1).get<double>(), bytes() / seconds()) << all();
  expect_complete();
}

TEST_F(HeapVerdictTruth, ASlowLeakIsFoundNextToANoisyMap) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("slow-leak");
  const json leak = about_pattern("leak");
  ASSERT_FALSE(leak.is_null()) << all();
  EXPECT_SLOPE(leak, bytes() / seconds());
  EXPECT_TRUE(find("leak", "site_noise").is_null()) << all();
  expect_complete();
}

TEST_F(HeapVerdictTruth, ABoundedCacheIsNoLeak) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("cache");
  const json cache = about_pattern("cache");
  ASSERT_FALSE(cache.is_null()) << all();
  EXPECT_NEAR(cache.at("numbers").at("live_bytes").get<double>(), bytes(), 0.02 * bytes()) << all();
  EXPECT_GT(cache.at("numbers").at("replaced_times").get<double>(), 2) << all();
  expect_no_leak();
  EXPECT_FALSE(find("level").is_null()) << all();
  expect_complete();
}

TEST_F(HeapVerdictTruth, ABoundedCacheIsNoLeakBySamplesEither) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("cache", {"--heap", "--heap-interval", "8192"});
  EXPECT_FALSE(about_pattern("cache").is_null()) << all();
  expect_no_leak();
}

TEST_F(HeapVerdictTruth, ChurnIsSeen) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("churn");
  const json churn = about_pattern("churn");
  ASSERT_FALSE(churn.is_null()) << all();
  EXPECT_GT(churn.at("numbers").at("calls_per_s").get<double>(), 20'000) << all();
  expect_no_leak();
  expect_complete();
}

TEST_F(HeapVerdictTruth, APeakIsNamedByWhatMadeIt) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("peak");
  const json peak = about_pattern("peak");
  ASSERT_FALSE(peak.is_null()) << all();
  EXPECT_NEAR(peak.at("bytes").get<double>(), bytes(), 0.05 * bytes()) << all();
  const double at_s = peak.at("numbers").at("at_s").get<double>();
  EXPECT_GT(at_s, 0.4 * seconds()) << all();
  EXPECT_LT(at_s, 0.9 * seconds()) << all();
  EXPECT_FALSE(find("bloat", "site_base").is_null()) << all();
  expect_no_leak();
  expect_complete();
}

TEST_F(HeapVerdictTruth, AContainerThatGrowsForEverIsALeakCandidate) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("realloc");
  const json leak = about_pattern("leak");
  ASSERT_FALSE(leak.is_null()) << all();
  EXPECT_SLOPE(leak, bytes() / seconds());
  EXPECT_THAT(leak.at("evidence").dump(), testing::HasSubstr("1 block holds"));
  expect_complete();
}

TEST_F(HeapVerdictTruth, WhatAnotherThreadDoesNotFreeIsALeak) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("handed");
  const json leak = about_pattern("leak");
  ASSERT_FALSE(leak.is_null()) << all();
  EXPECT_SLOPE(leak, bytes() / seconds());
  EXPECT_NEAR(leak.at("numbers").at("freed_percent").get<double>(), 87.5, 2) << all();
}

TEST_F(HeapVerdictTruth, BlocksFreedOnlyAtTheEndAreReportedAsSuch) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("at-exit");
  const json freed = about_pattern("freed-at-exit");
  ASSERT_FALSE(freed.is_null()) << all();
  EXPECT_NEAR(freed.at("bytes").get<double>(), bytes(), 0.05 * bytes()) << all();
  EXPECT_TRUE(find("unfreed").is_null()) << all();
  expect_no_leak();
  expect_complete();
}

TEST_F(HeapVerdictTruth, NoiseIsCalledNoise) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("noise");
  // Level where it happened to swing little.
  EXPECT_FALSE(find("noise").is_null() && find("level").is_null()) << all();
  expect_no_leak();
  expect_complete();
}

TEST_F(HeapVerdictTruth, AWarmUpIsNoLeak) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("warm-up");
  const json level = find("level");
  ASSERT_FALSE(level.is_null()) << all();
  EXPECT_NEAR(level.at("trend").at("warm_up_s").get<double>(), 0.25 * seconds(), 0.1 * seconds()) << all();
  EXPECT_FALSE(about_pattern("bloat").is_null()) << all();
  EXPECT_FALSE(about_pattern("unfreed").is_null()) << all();
  expect_no_leak();
}

// Of 64 MiB one block of sixteen stays, and with it every page that it lies on or that its allocator does not give back.
class HeldMemory : public HeapVerdictTruth {
 protected:
  void expect_held(const std::vector<std::string>& command, const std::string& allocator,
                   const std::string& remedy) {
    std::vector<std::string> arguments{"record", "--heap=exact", "--lossless", "-o", recording_, "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const Outcome outcome = fathom(arguments);
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    const double live = json::parse(outcome.output).at("live_bytes").get<double>();
    const Outcome report = fathom({"report", recording_, "--json"});
    ASSERT_TRUE(report.ok()) << report.describe();
    heap_ = json::parse(report.output).at("heap");
    const json held = find("held");
    ASSERT_FALSE(held.is_null()) << all();
    EXPECT_THAT(held.at("sentence").get<std::string>(), testing::HasSubstr(allocator));
    EXPECT_THAT(held.at("advice").get<std::string>(), testing::HasSubstr(remedy));
    const json& numbers = held.at("numbers");
    EXPECT_NEAR(numbers.at("live_bytes").get<double>(), live, 0.1 * live) << held;
    EXPECT_GT(numbers.at("held_bytes").get<double>(), 2 * live) << held;
    expect_complete();
  }
};

TEST_F(HeldMemory, InGapsBetweenBlocksOfGlibcIsAVerdict) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  expect_held({HELD_MEMORY, "64", "4"}, "glibc", "malloc_trim(0)");
}

TEST_F(HeldMemory, ThatJemallocDoesNotGiveBackYetIsAVerdict) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const std::string library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "needs libjemalloc2, which is not installed";
  expect_held({"/usr/bin/env", "LD_PRELOAD=" + library, HELD_MEMORY, "64", "4"}, "jemalloc",
              " MALLOC_CONF=background_thread:true");
}

TEST_F(HeapVerdictTruth, GrowthWithTheWorkIsReportedAsSuch) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  RECORD("with-work", {"--heap=exact", "--lossless"}, 8);
  EXPECT_FALSE(about_pattern("grows-with-work").is_null()) << all();
  EXPECT_TRUE(about_pattern("leak").is_null()) << all();
}

}  // namespace
}  // namespace fathom::support
