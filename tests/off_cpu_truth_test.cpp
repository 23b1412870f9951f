// Reported waiting against what the program measured about itself: the right place, the right time, the right
// cause, the right waker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;

json waiting_of(const std::string& recording) {
  const Outcome said = fathom({"report", recording, "--metric", "off-cpu", "--show-idle", "--json"});
  EXPECT_TRUE(said.ok()) << said.describe();
  return json::parse(said.output);
}

double total_s(const json& report, const std::string& function) {
  for (const json& row : report.at("functions")) {
    if (row.at("name") == function) return row.at("total").get<double>() * 1e-9;
  }
  return 0;
}

// The 95 % interval that fathom gives for it: of a thread that waits often, some waits are walked and stand for the others.
double stated_error_s(const json& report, const std::string& function) {
  for (const json& row : report.at("functions")) {
    const double percent = row.at("total_percent");
    if (row.at("name") != function || percent <= 0) continue;
    const json& interval = row.at("total_percent_interval");
    const double half = (interval.at(1).get<double>() - interval.at(0).get<double>()) / 2;
    return half / percent * total_s(report, function);
  }
  return 0;
}

// From the moment at which fathom books the end of a wait to that at which the thread's clock goes on: 1 to
// 16 us (2026-11).
constexpr double kSwitch_s = 40e-6;

// All of that in waits of this cause.
double switches_s(const json& report, const std::string& cause) {
  for (const json& row : report.at("causes")) {
    if (row.at("cause") == cause) return row.at("waits").get<double>() * kSwitch_s;
  }
  return 0;
}

struct Recorded {
  Outcome program;
  json report;
};

class OffCpuTruth : public testing::Test {
 protected:
  static Recorded record(const TempDir& folder) {
    Recorded recorded;
    recorded.program = fathom({"record", "-o", folder / "x.fathom", "--", KNOWN_WAITS, "5", folder / "data"});
    recorded.report = waiting_of(folder / "x.fathom");
    return recorded;
  }
};

TEST_F(OffCpuTruth, TimeIsOnTheRightPlaceForTheRightCause) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const auto [program, report] = record(folder);
  ASSERT_TRUE(program.ok()) << program.describe();
  for (const auto& [site, truth_s] : answer_of(program)) {
    const double said_s = total_s(report, site);
    // One per cent; what fathom says about its own error; and the switches, of which there are many only where a disk answers at once.
    const double switched_s = site == "wait_for_disk"   ? switches_s(report, "file-sync")
                              : site == "wait_for_page" ? switches_s(report, "page-fault")
                                                        : 0;
    const double error_s = stated_error_s(report, site);
    EXPECT_NEAR(said_s, truth_s, 0.01 * truth_s + 0.03 + switched_s + error_s) << site;
    EXPECT_LT(error_s, 0.3 * truth_s + 0.5) << site << ": an error that says something";
    std::printf("  %-20s truth %7.3f s  reported %7.3f s\n", site.c_str(), truth_s, said_s);
  }
  std::set<std::string> causes;
  for (const json& row : report.at("causes")) causes.insert(row.at("cause").get<std::string>());
  for (const char* cause : {"sleep", "futex", "pipe", "poll", "file-sync"})
    EXPECT_TRUE(causes.contains(cause)) << cause;
  EXPECT_EQ(report.at("quality").at("lost"), 0);
}

TEST_F(OffCpuTruth, EveryThreadRanWaitedAndQueuedForAllOfItsLife) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const auto [program, report] = record(folder);
  ASSERT_TRUE(program.ok()) << program.describe();
  int threads = 0;
  for (const json& thread : report.at("threads")) {
    if (thread.value("ran_s", 0.0) + thread.value("waited_s", 0.0) < 4)
      continue;  // the main thread's short beginning
    const double life_s = thread.at("to_s").get<double>() - thread.at("from_s").get<double>();
    const double booked_s = thread.at("ran_s").get<double>() + thread.at("waited_s").get<double>() +
                            thread.at("run_queue_s").get<double>();
    EXPECT_NEAR(booked_s, life_s, 0.002 * life_s + 0.02) << thread.at("name");
    ++threads;
  }
  EXPECT_GE(threads, 8);
}

TEST_F(OffCpuTruth, LocksNameTheWaiterAndTheReleaser) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const auto [program, report] = record(folder);
  ASSERT_TRUE(program.ok()) << program.describe();
  std::string text = report.at("locks").dump();
  EXPECT_THAT(text, testing::HasSubstr("\"wait_for_mutex\""));
  for (const json& lock : report.at("locks").at("by_site")) {
    if (lock.at("name") != "wait_for_mutex") continue;
    EXPECT_EQ(lock.at("waiters").at(0).at("thread"), "locker");
    EXPECT_EQ(lock.at("releasers").at(0).at("thread"), "holder");
    const double share =
        lock.at("releasers").at(0).at("total_s").get<double>() / lock.at("total_s").get<double>();
    EXPECT_GE(share, 0.95);
  }
}

// What reads and writes returned, except in the first tenths of a second, and of waits that are walked when they begin: on a busy
// machine up to half of them.
constexpr double kLeastResults = 0.5;
TEST_F(OffCpuTruth, CallsThatWaitedHaveTheirResult) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const auto [program, report] = record(folder);
  ASSERT_TRUE(program.ok()) << program.describe();
  int pipes = 0, syncs = 0, silences = 0;
  for (const json& file : report.at("files")) {
    const double calls = file.at("returned_calls"), waits = file.at("waits");
    const std::string path = file.at("stacks").at(0).at("path");
    const auto is_at = [&](const char* site) { return path.find(site) != std::string::npos; };
    if (!is_at("wait_for_pipe") && !is_at("wait_for_disk") && !is_at("wait_for_nobody")) continue;
    std::printf("  %-20s %5.0f waits, %5.0f results, %8.0f bytes, %5.0f failed\n",
                file.at("cause").dump().c_str(), waits, calls, file.at("returned_bytes").get<double>(),
                file.at("failed_calls").get<double>());
    if (is_at("wait_for_pipe")) {  // one wait and one byte a call
      ++pipes;
      EXPECT_GE(calls, kLeastResults * waits) << file.dump();
      EXPECT_EQ(file.at("returned_bytes"), calls);
      EXPECT_EQ(file.at("failed_calls"), 0);
    } else if (is_at("wait_for_nobody")) {
      ++silences;
      EXPECT_GE(calls, kLeastResults * waits) << file.dump();
      EXPECT_EQ(file.at("failed_calls"), calls);
      EXPECT_EQ(file.at("returned_bytes"), 0);
    } else if (file.at("cause") == "file-sync") {  // waits several times
      ++syncs;
      EXPECT_GT(calls, 10);
      EXPECT_LE(calls, waits);
      EXPECT_EQ(file.at("returned_bytes"), 0);
      EXPECT_EQ(file.at("failed_calls"), 0);
    }
  }
  EXPECT_EQ(pipes, 1);
  EXPECT_EQ(syncs, 1);
  EXPECT_EQ(silences, 1);
}

TEST_F(OffCpuTruth, FirstThreadOfALaunchedProgramIsBookedFromItsBeginning) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome recorded = fathom({"record", "-o", folder / "x.fathom", "--", "sleep", "1"});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const json report = waiting_of(folder / "x.fathom");
  EXPECT_NEAR(report.at("total").get<double>() * 1e-9, 1, 0.05);
  EXPECT_EQ(report.at("causes").at(0).at("cause"), "sleep");
}

TEST_F(OffCpuTruth, ThreadsThatWantTheSamePlaceInTheTableOfAccountsAreBothBooked) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome program =
      fathom({"record", "-q", "--off-cpu", "-o", folder / "x.fathom", "--", CROWDED_THREADS, "2"});
  if (program.exit_status == 77) GTEST_SKIP() << "the numbers of threads cannot be chosen here";
  ASSERT_TRUE(program.ok()) << program.describe();
  const json report = waiting_of(folder / "x.fathom");
  // The sums of a thread contain the walks of its stack; its own clock calls them running.
  const double walked_s = report.at("quality").at("waits").at("switch_s");
  std::istringstream lines(program.output);
  std::string name;
  int tid = 0, found = 0;
  for (double truth_s = 0; lines >> name >> tid >> truth_s;) {
    for (const json& thread : report.at("threads")) {
      if (thread.at("tid") != tid) continue;
      ++found;
      EXPECT_EQ(thread.at("name"), name);
      // Up to a fiftieth of a second passes before it measures: it waits for the other one to be there.
      EXPECT_NEAR(thread.at("waited_s").get<double>() + thread.at("run_queue_s").get<double>(), truth_s,
                  0.005 * truth_s + 0.02 + walked_s)
          << name;
    }
  }
  EXPECT_EQ(found, 2) << program.output;
}

TEST_F(OffCpuTruth, RecordingsOfWaitsAloneExpectNoCpuSamples) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome recorded = fathom({"record", "-q", "--off-cpu", "-o", folder / "x.fathom", "--", "sh", "-c",
                                   "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 0.1"});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  EXPECT_TRUE(waiting_of(folder / "x.fathom").at("quality").at("expected_samples").is_null());
  const Outcome said = fathom({"report", folder / "x.fathom", "--all"});
  ASSERT_TRUE(said.ok()) << said.describe();
  EXPECT_THAT(said.output, testing::Not(testing::HasSubstr("promised")));
  EXPECT_THAT(said.output, testing::Not(testing::HasSubstr("0 received")));
}

TEST_F(OffCpuTruth, WaitsThatSpanTheRecordingAreCountedWithThePartInside) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Running sleeper({"sleep", "30"});
  pause_ms(300);
  const Outcome recorded =
      fathom({"record", "-d", "2", "-o", folder / "x.fathom", "-p", std::to_string(sleeper.pid())});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const json report = waiting_of(folder / "x.fathom");
  const double duration_s = report.at("duration_s").get<double>();
  EXPECT_NEAR(report.at("total").get<double>() * 1e-9, duration_s, 0.01 * duration_s);
  ASSERT_FALSE(report.at("causes").empty());
  EXPECT_EQ(report.at("causes").at(0).at("cause"), "sleep");
}

// Waits are walked when they are over. One that is not over at the end is walked from outside, also if it came after thousands of
// short ones.
TEST_F(OffCpuTruth, AWaitThatTheRecordingEndsInHasItsStack) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome recorded =
      fathom({"record", "-d", "3", "-o", folder / "x.fathom", "--", "sh", "-c",
              "cd \"$0\" && mkfifo a b && { cat <a >b & } && exec 3>a 4<b && i=0 && "
              "while [ $i -lt 3000 ]; do echo x >&3; read y <&4; i=$((i+1)); done; sleep 30",
              folder.path()});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const json report = waiting_of(folder / "x.fathom");
  double thousands = 0, waited_s = 0, known_s = 0;
  for (const json& thread : report.at("threads")) {
    if (thread.at("name") != "cat") continue;
    thousands = thread.at("waits").get<double>() / 1000;
    waited_s = thread.at("waited_s").get<double>();
  }
  for (const json& row : report.at("causes"))
    if (row.at("cause") == "pipe") known_s = row.at("total_s").get<double>() + row.at("idle_s").get<double>();
  EXPECT_GT(thousands, 1) << "too few for the short waits to be thinned out";
  EXPECT_GT(waited_s, 1);
  EXPECT_NEAR(known_s, waited_s, 0.03 * waited_s + 0.05) << report.at("causes").dump(1);
  EXPECT_GT(total_s(report, "read") + total_s(report, "__read") + total_s(report, "__GI___libc_read"),
            0.9 * known_s)
      << report.at("functions").dump(1).substr(0, 4000);
}

}  // namespace
}  // namespace fathom::support
