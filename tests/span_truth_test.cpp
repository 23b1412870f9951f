// Spans against what the program and the test measured: calls of a function, marker files, traces, a recorder that is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;

json spans_in(const std::string& recording, const std::vector<std::string>& files = {}) {
  std::vector<std::string> words = {"report", recording, "--json", "--top", "0", "--spans"};
  words.insert(words.end(), files.begin(), files.end());
  const Outcome said = fathom(words);
  EXPECT_TRUE(said.ok()) << said.describe();
  return json::parse(said.output);
}

json kind_of(const json& spans, const std::string& name) {
  for (const json& kind : spans.at("kinds"))
    if (kind.at("name") == name) return kind;
  ADD_FAILURE() << "no span " << name << " in " << spans.dump(1);
  return {};
}

double sum_ns(const json& rows) {
  double ns = 0;
  for (const json& row : rows) ns += row.at("total_ns").get<double>();
  return ns;
}

std::int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

TEST(SpanTruth, EachCallOfAFunctionIsASpan) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome program = fathom({"record", "--span", "a sleep=known_sleep", "--span", "known_tail", "-o",
                                  folder / "x.fathom", "--", KNOWN_CALLS, "20"});
  ASSERT_TRUE(program.ok()) << program.describe();
  const json truth = json::parse(program.output);
  const json spans = spans_in(folder / "x.fathom");
  const json sleep = kind_of(spans, "a sleep");
  EXPECT_EQ(sleep.at("count"), 60);
  EXPECT_EQ(sleep.at("seen"), 60);
  EXPECT_EQ(sleep.at("cut"), 0);
  EXPECT_GE(sleep.at("total_ns"), truth.at("slept_inside_ns"));
  EXPECT_LE(sleep.at("total_ns"), truth.at("slept_outside_ns"));
  EXPECT_EQ(sleep.at("quantiles").size(), 3u);
  const double seen_ns = sleep.at("seen_ns");
  EXPECT_NEAR(sum_ns(sleep.at("segments")), seen_ns, 0.001 * seen_ns);
  EXPECT_NEAR(sum_ns(sleep.at("path")), seen_ns, 0.001 * seen_ns);
  EXPECT_EQ(kind_of(spans, "known_tail").at("count"), 20);

  const Outcome some = fathom({"report", folder / "x.fathom", "--span", "a sleep", "--slower-than", "5ms"});
  ASSERT_TRUE(some.ok()) << some.describe();
  EXPECT_THAT(some.errors, testing::HasSubstr(" of 60 spans of a sleep"));
  const Outcome unknown = fathom({"report", folder / "x.fathom", "--span", "nothing"});
  EXPECT_EQ(unknown.exit_status, 3) << unknown.describe();
}

// Two handles are open at a time: without the argument, an end would be that of the handle opened last.
TEST(SpanTruth, CallsWithTheSameArgumentBeginAndEndASpan) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome program =
      fathom({"record", "--span", "open=known_open:arg1..known_close:arg2", "--span",
              "round=known_open..known_value", "-o", folder / "x.fathom", "--", KNOWN_CALLS, "20"});
  ASSERT_TRUE(program.ok()) << program.describe();
  const double slept_ns = json::parse(program.output).at("slept_inside_ns");
  const json spans = spans_in(folder / "x.fathom");
  const json open = kind_of(spans, "open"), round = kind_of(spans, "round");
  EXPECT_EQ(open.at("count"), 20);
  EXPECT_EQ(open.at("seen"), 20);
  EXPECT_GE(open.at("total_ns").get<double>(), slept_ns * 39 / 20 * 0.9) << "19 of two rounds, and one";
  EXPECT_EQ(round.at("count"), 20);
  EXPECT_GE(round.at("total_ns").get<double>(), slept_ns);
  EXPECT_LT(round.at("total_ns").get<double>(), open.at("total_ns").get<double>());

  const Outcome left = fathom({"record", "--span", "open=known_open:arg1..known_write:arg1", "-o",
                               folder / "y.fathom", "--", KNOWN_CALLS, "3"});
  ASSERT_TRUE(left.ok()) << left.describe();
  const Outcome said = fathom({"report", folder / "y.fathom", "--json"});
  EXPECT_THAT(said.output, testing::HasSubstr("3 spans have begun and not ended: the oldest is open"))
      << said.output;
}

TEST(SpanTruth, AFunctionThatDoesNotExistIsRefusedBeforeTheProgramRuns) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome refused =
      fathom({"record", "--span", "a=no_such_function", "-o", folder / "x.fathom", "--", KNOWN_CALLS, "1"});
  EXPECT_EQ(refused.exit_status, 3) << refused.describe();
  EXPECT_EQ(refused.output, "");
  EXPECT_THAT(refused.errors, testing::HasSubstr("--span: there is no function 'no_such_function'"));
}

// The test itself writes down 20 pieces of work of 10 ms, in the name of a thread that is recorded.
TEST(SpanTruth, MarkersAreStoredAndCountOnce) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  Running target({"sleep", "30"});
  const std::string pid = std::to_string(target.pid());
  const std::string markers = folder / ("marker-" + pid + "-" + pid + ".txt");
  std::ofstream(markers) << "";
  Running recorder = start_recording(folder / "x.fathom", {"-d", "3", "--spans", folder.path(), "-p", pid});
  const std::int64_t from = monotonic_ns();
  {
    std::ofstream file(markers);
    for (int i = 0; i < 20; ++i)
      file << from + i * 20'000'000 << ' ' << from + i * 20'000'000 + 10'000'000 << " piece of work\n";
  }
  const Outcome recorded = recorder.wait(std::chrono::seconds(30));
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const json stored = kind_of(spans_in(folder / "x.fathom"), "piece of work");
  EXPECT_EQ(stored.at("count"), 20);
  EXPECT_EQ(stored.at("seen"), 20);
  EXPECT_EQ(stored.at("quantiles").at(0).at("ns"), 10'000'000);
  EXPECT_EQ(kind_of(spans_in(folder / "x.fathom", {markers}), "piece of work").at("count"), 20)
      << "the recording has them already";

  // An array without a bracket at its end, as programs that are killed leave it.
  std::ofstream(folder / "trace.json") << R"([{"name":"traced","ph":"X","ts":)" << from / 1000
                                       << R"(,"dur":5000,"pid":)" << pid << R"(,"tid":)" << pid << "},\n";
  const json traced = kind_of(spans_in(folder / "x.fathom", {folder / "trace.json"}), "traced");
  EXPECT_EQ(traced.at("seen"), 1);
  EXPECT_EQ(traced.at("total_ns"), 5'000'000.0);
}

TEST(SpanTruth, AKilledRecorderLeavesTheSpansSoFar) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  Running target({KNOWN_CALLS, "400", folder / "go"});
  Running recorder = start_recording(folder / "x.fathom",
                                     {"-p", std::to_string(target.pid()), "--span", "sleep=known_sleep"});
  std::ofstream(folder / "go") << "\n";
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  recorder.kill_and_wait();
  const Outcome program = target.wait(std::chrono::seconds(30));
  ASSERT_TRUE(program.ok()) << program.describe();
  const json sleep = kind_of(spans_in(folder / "x.fathom"), "sleep");
  EXPECT_GT(sleep.at("count"), 100);
  EXPECT_LT(sleep.at("count"), 1200);
}

}  // namespace
}  // namespace fathom::support
