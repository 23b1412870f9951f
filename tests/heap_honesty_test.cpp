// Reports about an incompletely seen heap: fathom stopped or slowed down, programs that execute others,
// processes that fork, libraries that are loaded again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/heap_answer.h"
#include "support/process_code.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class HeapHonesty : public testing::Test {
 protected:
  json leaks(int expected_status) {
    const Outcome outcome = fathom({"leaks", recording_, "--json"});
    EXPECT_EQ(outcome.exit_status, expected_status) << outcome.describe();
    return json::parse(outcome.output);
  }
  void touch(const std::string& name) { std::ofstream(folder_ / name) << "x"; }
  bool exists(const std::string& name) { return std::filesystem::exists(folder_ / name); }

  // Runs interrupted_heap; `while_it_storms` has the recorder in hand, from before the storm until it is
  // over.
  void record(const std::string& seconds, const std::vector<std::string>& options,
              const std::function<void(Running& recorder)>& while_it_storms) {
    std::vector<std::string> arguments{"record", "--cpu", "-o", recording_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", INTERRUPTED_HEAP, folder_.path(), seconds});
    Running recorder(fathom_command(arguments));
    ASSERT_TRUE(wait_until([&] { return exists("ready"); }, milliseconds(20'000)));
    pause_ms(200);
    while_it_storms(recorder);
    recorder.send(SIGCONT);
    touch("continued");
    const Outcome outcome = recorder.wait(milliseconds(30'000));
    errors_ = outcome.errors;
    EXPECT_TRUE(outcome.ok() || outcome.exit_status == 5 || outcome.exit_status == 1) << outcome.describe();
  }
  void storm_while_stopped(Running& recorder) {
    recorder.send(SIGSTOP);
    touch("stopped");
    EXPECT_TRUE(wait_until([&] { return exists("stormed"); }, milliseconds(30'000)));
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
  std::string errors_;
};

TEST_F(HeapHonesty, LostEventsChangeTheReport) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  record("1.5", {"--heap=exact"}, [&](Running& recorder) { storm_while_stopped(recorder); });
  const Outcome said = fathom({"leaks", recording_, "--json"});
  const json leaks = json::parse(said.output);
  EXPECT_GT(leaks.at("quality").at("lost_ring_full"), 100'000) << said.output;
  EXPECT_FALSE(leaks.at("quality").at("complete"));
  EXPECT_EQ(said.exit_status, 1) << "so many frees were lost that nothing is sure";
  EXPECT_EQ(leaks.at("answer"), "not known");
  EXPECT_TRUE(leaks.at("shown").at("bytes_error").is_null());
  const Outcome report = fathom({"report", recording_, "--heap"});
  EXPECT_THAT(report.output, HasSubstr("not every one"));
  EXPECT_THAT(report.output, Not(HasSubstr("Every call")));
  EXPECT_THAT(report.output, Not(HasSubstr("exact to the event")));
}

// What is sampled in the tracer's own code is no stack of the program's, and the end of a recording and its report agree on that.
TEST_F(HeapHonesty, RecordAndReportSayTheSameOfCompleteStacks) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  record("0.5", {"--heap=exact"}, [&](Running&) {
    touch("stopped");
    EXPECT_TRUE(wait_until([&] { return exists("stormed"); }, milliseconds(30'000)));
  });
  std::smatch said;
  ASSERT_TRUE(std::regex_search(errors_, said, std::regex("([0-9.]+) % with complete stacks"))) << errors_;
  const Report report(recording_);
  EXPECT_NEAR(std::stod(said[1]), report.complete_percent(), 0.5) << report.quality();
}

TEST_F(HeapHonesty, TracingBeginsAgainAfterAnOutage) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  record("7", {"--heap=exact"}, [&](Running& recorder) { storm_while_stopped(recorder); });
  const HeapAnswer answer(recording_);
  ASSERT_EQ(answer.profile().heap.outages.size(), 1u) << answer.losses();
  const model::HeapOutage& outage = answer.profile().heap.outages[0];
  EXPECT_GT(outage.end_ns - outage.start_ns, 1'000'000'000u);
  EXPECT_LT(outage.end_ns - outage.start_ns, 6'000'000'000u);
  EXPECT_FALSE(answer.heap().switched_off);
  const HeapNumbers after = answer.below("site_after");
  EXPECT_EQ(after.calls, 1000);
  EXPECT_EQ(after.live_calls, 600);
  const json found = leaks(1);
  EXPECT_EQ(found.at("quality").at("outages").size(), 1u);
  EXPECT_EQ(found.at("answer"), "not known") << "events were lost, too, before the tracer paused";
  EXPECT_THAT(fathom({"report", recording_, "--timeline"}).output, HasSubstr("? not recorded"));
}

TEST_F(HeapHonesty, LosslessNothingIsLostOfARecorderThatComesLate) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const auto in_turns = [&](Running& recorder) {
    touch("stopped");
    while (!exists("stormed")) {
      recorder.send(SIGSTOP);
      pause_ms(300);
      recorder.send(SIGCONT);
      pause_ms(50);
    }
  };
  record("3", {"--leaks"}, in_turns);
  const json found = leaks(5);
  EXPECT_EQ(found.at("quality").at("lost"), 0);
  EXPECT_EQ(HeapAnswer(recording_).below("site_after").live_calls, 600);
  EXPECT_EQ(HeapAnswer(recording_).below("site_storm").live_calls, 0);
  EXPECT_EQ(HeapAnswer(recording_).below("site_before").live_calls, 0);
  EXPECT_THAT(errors_, HasSubstr("s for the recorder"));
  for (const char* name : {"ready", "stopped", "stormed", "continued"})
    std::filesystem::remove(folder_ / name);
  record("3", {"--heap=exact"}, in_turns);
  EXPECT_GT(json::parse(fathom({"leaks", recording_, "--json"}).output).at("quality").at("lost"), 0);
}

// The chain of a shell, env and the program: the heap of each ends with it.
TEST_F(HeapHonesty, HeapsOfProgramsThatExecuteOthersEndWithThem) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome alone =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", KNOWN_HEAP, "300", "2"});
  ASSERT_TRUE(alone.ok()) << alone.describe();
  const json expected = leaks(5);
  const std::string chain = std::string("exec env A=1 sh -c 'exec ") + KNOWN_HEAP + " 300 2'";
  const Outcome outcome =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", "sh", "-c", chain});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  const auto calls = answer_of(outcome, "calls"), live = answer_of(outcome, "live_bytes");
  for (const auto& [site, count] : calls) {
    EXPECT_EQ(answer.below(site).calls, count) << site;
    EXPECT_EQ(answer.below(site).live_bytes, live.at(site)) << site;
  }
  int ended = 0;
  for (const model::Heap& heap : answer.profile().heap.heaps) {
    EXPECT_TRUE(heap.from_start);
    if (heap.image_ended && heap.dropped_blocks > 0) ++ended;
  }
  EXPECT_GE(ended, 3) << "sh, env, sh";
  const json found = leaks(5);
  // But for what the C library keeps of a thread that has ended: the next one takes it over if it comes late enough.
  EXPECT_NEAR(found.at("total").at("blocks").get<double>(), expected.at("total").at("blocks").get<double>(),
              2);
  EXPECT_NEAR(found.at("total").at("bytes").get<double>(), expected.at("total").at("bytes").get<double>(),
              1000);
  EXPECT_THAT(found.at("summary").dump(),
              HasSubstr("disappeared with 3 programs that executed another program"));
}

// The tracer is mapped into the process of this name, and its code is no longer being changed.
bool is_traced(const std::string& name) {
  const pid_t pid = std::atoi(run({"pgrep", "-n", "-x", name}).output.c_str());
  if (pid <= 0 || tracer_mappings_of(pid) == 0) return false;
  const std::string code = code_of(pid);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  return code_of(pid) == code;
}

TEST_F(HeapHonesty, ForkedProcessesAreNamedOrTracedOnRequest) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  touch("go");
  const std::string command =
      std::string("sleep 1; ") + INTERRUPTED_HEAP + " " + folder_.path() + " 0.1; true";
  touch("stopped");
  touch("continued");
  Outcome outcome =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", "sh", "-c", command});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_EQ(HeapAnswer(recording_).below("site_after").calls, 0);
  const Outcome report = fathom({"report", recording_, "--all"});
  EXPECT_THAT(report.output, HasSubstr("2 forked processes were not traced"));
  EXPECT_THAT(report.output, HasSubstr("interrupted_hea"));

  // A forked process is attached to while it runs, and goes on when that is done.
  std::filesystem::remove(folder_ / "continued");
  std::thread go_on([this] {
    wait_until([] { return is_traced("interrupted_hea"); }, std::chrono::milliseconds(30'000));
    touch("continued");
  });
  outcome = fathom({"record", "--heap=exact", "--lossless", "--heap-children", "-o", recording_, "--", "sh",
                    "-c", command});
  go_on.join();
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  EXPECT_EQ(answer.below("site_after").calls, 1000) << fathom({"report", recording_, "--all"}).output;
  EXPECT_EQ(answer.below("site_after").live_calls, 600);
}

TEST_F(HeapHonesty, ALibraryThatIsLoadedAgainIsTracedAgain) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom(
      {"record", "--heap=exact", "--lossless", "-o", recording_, "--", LOADED_AGAIN, CARELESS_ALLOCATOR});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  EXPECT_EQ(answer.below("site_first").calls, 500) << answer.losses();
  EXPECT_EQ(answer.below("site_again").calls, 500) << answer.losses();
  EXPECT_EQ(answer.below("site_third").calls, 500) << answer.losses();
}

}  // namespace
}  // namespace fathom::support
