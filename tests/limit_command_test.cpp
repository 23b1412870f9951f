// fathom limit as it is used: its exit status, what it prints, and what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/control_group.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr double kMiB = 1 << 20;

class Limit : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    // Asks the kernel, not the code under test.
    std::string why;
    if (!ControlGroup::make("memory", {{"memory.max", "memory.limit_in_bytes"}, {"67108864", "67108864"}},
                            why))
      GTEST_SKIP() << why;
  }
  // The result as JSON. The program writes nothing to standard output.
  json result(std::vector<std::string> arguments, int& status) {
    arguments.insert(arguments.begin(), {"limit", "--json", folder_ / "result.json", "--force"});
    const Outcome outcome = fathom(arguments);
    status = outcome.exit_status;
    std::ifstream file(folder_ / "result.json");
    std::ostringstream text;
    text << file.rdbuf();
    const json read = json::parse(text.str(), nullptr, false);
    EXPECT_FALSE(read.is_discarded()) << outcome.describe();
    return read;
  }
  // Where fathom makes groups: below our own, in version 2 also next to it.
  static std::set<std::string> own_folders() {
    std::set<std::string> folders;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const std::string path = line.substr(line.rfind(':') + 1);
      if (line.find(":memory:") != std::string::npos) folders.insert("/sys/fs/cgroup/memory" + path);
      if (line.starts_with("0::")) {
        folders.insert("/sys/fs/cgroup" + (path == "/" ? "" : path));
        folders.insert("/sys/fs/cgroup" + path.substr(0, path.rfind('/')));
      }
    }
    return folders;
  }
  // Folders of groups that a process of this number made.
  static std::vector<std::string> groups_of(pid_t pid) {
    std::vector<std::string> found;
    const std::string name = "fathom-limit-" + std::to_string(pid) + "-";
    for (const std::string& folder : own_folders()) {
      std::error_code error;
      for (auto at = std::filesystem::directory_iterator(folder, error);
           !error && at != std::filesystem::directory_iterator(); at.increment(error))
        if (at->path().filename().string().starts_with(name)) found.push_back(at->path());
    }
    return found;
  }

  static bool is_pending(pid_t pid, int signal) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("ShdPnd:"))
        return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
  }

  TempDir folder_;
};

TEST_F(Limit, ExitStatusDistinguishesAPassADeathAndAFailure) {
  int status = -1;
  EXPECT_EQ(result({"--memory", "200m", "--", MEMORY_EATER, "40"}, status)["verdict"], "passed");
  EXPECT_EQ(status, 0);
  EXPECT_EQ(result({"--memory", "40m", "--", MEMORY_EATER, "200"}, status)["verdict"], "died");
  EXPECT_EQ(status, 5);
  EXPECT_EQ(result({"--memory", "200m", "--", MEMORY_EATER, "1", "3"}, status)["verdict"], "failed");
  EXPECT_EQ(status, 7);
  EXPECT_EQ(result({"--memory", "200m", "--", "/bin/sh", "-c", "kill -9 $$"}, status)["verdict"], "killed");
  EXPECT_EQ(status, 7);
  EXPECT_EQ(fathom({"limit", "--memory", "1", "--", "/bin/true"}).exit_status, 2);
  EXPECT_EQ(fathom({"limit", "--memory", "64m", "--", "/no/such/program"}).exit_status, 3);
}

TEST_F(Limit, DeathHasItsPeakAndItsRecord) {
  int status = -1;
  const json died = result({"--memory", "64m", "--", MEMORY_EATER, "300"}, status);
  EXPECT_EQ(died["status"], 128 + SIGKILL);
  EXPECT_LE(died["peak_bytes"].get<double>(), 64 * kMiB);
  EXPECT_GT(died["peak_bytes"].get<double>(), 60 * kMiB);
  EXPECT_EQ(died["swapped_bytes"], 0);
  EXPECT_EQ(died["oom_kills"], 1);
  if (::access("/dev/kmsg", R_OK) == 0) {
    ASSERT_EQ(died["killed"].size(), 1U);
    EXPECT_EQ(died["killed"][0]["pid"], died["pid"]);
    EXPECT_EQ(died["killed"][0]["name"], "memory_eater");
    EXPECT_GT(died["killed"][0]["anon_bytes"].get<double>(), 55 * kMiB);
  }
}

TEST_F(Limit, CommandHasItsOwnStreams) {
  CommandOptions options;
  options.input = "asked\n";
  const Outcome outcome =
      fathom({"limit", "--memory", "64m", "--", "/bin/sh", "-c", "cat; echo said >&2"}, options);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_EQ(outcome.output, "asked\n");
  EXPECT_THAT(outcome.errors, HasSubstr("said"));
  EXPECT_THAT(outcome.errors, HasSubstr("passed with 64.0 MiB"));
}

TEST_F(Limit, KilledItLeavesNoGroupAndNoCommand) {
  const std::string pid_file = folder_ / "pid";
  Running limit(fathom_command(
      {"limit", "--memory", "64m", "--", "/bin/sh", "-c", "echo $$ > " + pid_file + "; sleep 1000"}));
  pid_t command = 0;
  ASSERT_TRUE(wait_until([&] { return bool(std::ifstream(pid_file) >> command); }, milliseconds(30'000)));
  EXPECT_EQ(groups_of(limit.pid()).size(), 1U);
  const pid_t pid = limit.pid();
  limit.kill_and_wait();
  EXPECT_TRUE(wait_until([&] { return groups_of(pid).empty(); }, milliseconds(30'000)));
  EXPECT_TRUE(wait_until([&] { return ::kill(command, 0) != 0; }, milliseconds(30'000)));
}

TEST_F(Limit, CommandGetsASignalThatIsMeantForItAndEndsAsItWould) {
  const std::string mark = folder_ / "mark";
  Running limit(fathom_command({"limit", "--memory", "64m", "--", "/bin/sh", "-c",
                                "trap 'exit 0' TERM; touch " + mark + "; while :; do sleep 0.05; done"}));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(mark); }, milliseconds(30'000)));
  const pid_t pid = limit.pid();
  limit.send(SIGTERM);
  const Outcome outcome = limit.wait(milliseconds(30'000));
  EXPECT_EQ(outcome.exit_status, 1) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("interrupted"));
  EXPECT_TRUE(groups_of(pid).empty());
}

TEST_F(Limit, CommandThatDoesNotEndIsEndedBySecondRequest) {
  const std::string mark = folder_ / "mark";
  Running limit(fathom_command({"limit", "--memory", "64m", "--", "/bin/sh", "-c",
                                "trap '' TERM; touch " + mark + "; while :; do sleep 0.05; done"}));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(mark); }, milliseconds(30'000)));
  limit.send(SIGTERM);
  // Two that are pending at the same time would be one.
  ASSERT_TRUE(wait_until([&] { return !is_pending(limit.pid(), SIGTERM); }, milliseconds(30'000)));
  limit.send(SIGTERM);
  EXPECT_EQ(limit.wait(milliseconds(30'000)).exit_status, 1);
}

TEST_F(Limit, SmallestLimitThatWorksIsFound) {
  int status = -1;
  const json found = result(
      {"--memory", "256m", "--bisect", "--resolution", "4m", "--repeat", "1", "--", MEMORY_EATER, "60"},
      status);
  EXPECT_EQ(status, 0);
  EXPECT_GT(found["smallest_bytes"].get<double>(), 60 * kMiB);
  EXPECT_LT(found["smallest_bytes"].get<double>(), 76 * kMiB);
  EXPECT_LT(found["largest_failure_bytes"].get<double>(), found["smallest_bytes"].get<double>());
  for (const json& run : found["runs"]) EXPECT_EQ(run["works"].get<bool>(), run["verdict"] == "passed");
  result({"--memory", "20m", "--bisect", "--", MEMORY_EATER, "60"}, status);
  EXPECT_EQ(status, 5) << "no limit works";
}

TEST_F(Limit, PredicateOfTheUserDecidesWhatWorks) {
  int status = -1;
  const json found = result({"--memory", "64m", "--bisect", "--until", "false", "--", "/bin/true"}, status);
  EXPECT_TRUE(found["smallest_bytes"].is_null());
  EXPECT_EQ(status, 5);
}

TEST_F(Limit, CommandIsHeldAtItsLimitLookedAtAndGoesOnWithMore) {
  const Outcome outcome = fathom({"limit", "--memory", "32m", "--hold", "0.2", "--then-memory", "400m",
                                  "--json", folder_ / "r.json", "--", MEMORY_EATER, "60", "0", "flat"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("is stopped at its limit of 32.0 MiB"));
  EXPECT_THAT(outcome.errors, HasSubstr("memory_eater (pid "));
  std::ifstream file(folder_ / "r.json");
  const json read = json::parse(file);
  EXPECT_EQ(read["held"], 1);
  EXPECT_GT(read["peak_bytes"].get<double>(), 60 * kMiB);
}

TEST_F(Limit, CommandThatIsHeldIsKilledAfterwardsWithoutMore) {
  const Outcome outcome =
      fathom({"limit", "--memory", "32m", "--hold", "0.1", "--", MEMORY_EATER, "60", "0", "flat"});
  EXPECT_EQ(outcome.exit_status, 5) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("is stopped at its limit"));
}

// The dead man's switch is outside of the group and of fathom.
TEST_F(Limit, HeldCommandIsReleasedThoughFathomIsStopped) {
  Running limit(
      fathom_command({"limit", "--memory", "32m", "--hold", "1", "--", MEMORY_EATER, "60", "0", "flat"}));
  ASSERT_TRUE(
      wait_until([&] { return limit.errors_so_far().find("is stopped at its limit") != std::string::npos; },
                 milliseconds(30'000)));
  limit.send(SIGSTOP);
  const auto groups = groups_of(limit.pid());
  ASSERT_EQ(groups.size(), 1U);
  const auto is_empty = [&] {
    std::string pid;
    return !(std::ifstream(groups[0] + "/cgroup.procs") >> pid);
  };
  EXPECT_TRUE(wait_until(is_empty, milliseconds(30'000))) << "it still stands";
  limit.send(SIGCONT);
  EXPECT_EQ(limit.wait(milliseconds(30'000)).exit_status, 5);
}

TEST_F(Limit, KilledWhileItHoldsItLeavesNothingThatStands) {
  Running limit(
      fathom_command({"limit", "--memory", "32m", "--hold", "3600", "--", MEMORY_EATER, "60", "0", "flat"}));
  ASSERT_TRUE(
      wait_until([&] { return limit.errors_so_far().find("is stopped at its limit") != std::string::npos; },
                 milliseconds(30'000)));
  const pid_t pid = limit.pid();
  EXPECT_EQ(groups_of(pid).size(), 1U);
  limit.kill_and_wait();
  EXPECT_TRUE(wait_until([&] { return groups_of(pid).empty(); }, milliseconds(30'000)));
}

TEST_F(Limit, HeapThatIsRecordedAlongNamesWhatHeldTheMemory) {
  const std::string recording = folder_ / "x.fathom";
  int status = -1;
  const json died =
      result({"--memory", "100m", "--heap=exact", "-o", recording, "--", MEMORY_EATER, "300"}, status);
  EXPECT_EQ(status, 5);
  EXPECT_EQ(died["recording"], recording);
  ASSERT_FALSE(died["held_by"].empty());
  EXPECT_THAT(died["held_by"][0]["name"].get<std::string>(), HasSubstr("insert_into_index"));
  // Exact to the event, and all but what the kernel and the C library took of the limit.
  EXPECT_EQ(died["held_by"][0]["error_bytes"], 0);
  EXPECT_GT(died["held_by"][0]["bytes"].get<double>(), 90 * kMiB);
  EXPECT_LT(died["held_by"][0]["bytes"].get<double>(), 100 * kMiB);
  const Outcome report = fathom({"report", recording, "--heap", "--json"});
  ASSERT_EQ(report.exit_status, 0) << report.describe();
  EXPECT_THAT(report.output, HasSubstr("insert_into_index"));
}

}  // namespace
}  // namespace fathom::support
