// Waits that need something of the machine, against what the program measured about itself: at least 99 % of
// the time is on the right place, and the totals differ by 1 % at most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/vfs.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/control_group.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr long kTmpfsMagic = 0x01021994;

class HardWaits : public testing::Test {
 protected:
  // Records `command` and reads the report of its waits.
  void record(const std::vector<std::string>& command, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{"record", "-q", "-o", file()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    program = fathom(arguments, {.limit = std::chrono::milliseconds(90'000)});
    ASSERT_TRUE(program.ok()) << program.describe();
    const Outcome said =
        fathom({"report", file(), "--metric", "off-cpu", "--show-idle", "--json", "--top", "0"});
    ASSERT_TRUE(said.ok()) << said.describe();
    report = json::parse(said.output);
    answer = answer_of(program);
  }
  std::string file() const { return folder / "x.fathom"; }

  double on_site_s(const std::string& function) const {
    for (const json& row : report.at("functions")) {
      if (row.at("name") == function) return row.at("total").get<double>() * 1e-9;
    }
    return 0;
  }
  double cause_s(const std::string& cause) const {
    for (const json& row : report.at("causes")) {
      if (row.at("cause") == cause) return row.at("total_s").get<double>() + row.at("idle_s").get<double>();
    }
    return 0;
  }
  // Half of the 95 % interval of an estimate from waits that stand for others.
  double error_s() const {
    double sum = 0;
    for (const json& row : report.at("causes")) sum += row.at("total_error_s").get<double>();
    return sum;
  }
  // The site has its time and the recording has nothing that is not there.
  void expect_site(const std::string& site, double tolerance_s = 0.02) const {
    const double truth_s = answer.at(site), said_s = on_site_s(site);
    std::printf("  %-22s truth %7.3f s  reported %7.3f s\n", site.c_str(), truth_s, said_s);
    EXPECT_NEAR(said_s, truth_s, 0.01 * truth_s + tolerance_s) << site;
  }
  json file_row(const std::string& name) const {
    for (const json& row : report.at("files")) {
      if (row.at("name") == name && row.at("cause") == "page-fault") return row;
    }
    return {};
  }
  // A file that is on a disk and in no cache; empty where there is no disk.
  std::string make_file(std::size_t megabytes) const {
    const std::string path = folder / "mapped.db";
    struct statfs system {};
    if (statfs(folder.path().c_str(), &system) != 0 || system.f_type == kTmpfsMagic) return "";
    std::ofstream out(path, std::ios::binary);
    std::string megabyte(1 << 20, 'x');
    for (std::size_t i = 0; i < megabytes; ++i) {
      megabyte[0] = static_cast<char>('a' + i % 26);
      out << megabyte;
    }
    out.close();
    const Outcome synced =
        run({"sh", "-c", "sync \"$0\" && dd if=\"$0\" iflag=nocache count=0 2>/dev/null", path});
    return out && synced.ok() ? path : "";
  }
  // 1 to 16 us pass at the end of each wait until the thread's own clock goes on.
  double fault_tolerance_s() const { return 0.02 + 40e-6 * answer.at("major_faults"); }
  // A limit takes the pages of the program's own code away as well: `others` allows for them.
  void expect_major_faults(const std::string& path, bool others) const {
    const json row = file_row(path);
    ASSERT_FALSE(row.is_null()) << report.at("files").dump(1);
    const double truth = answer.at("major_faults");
    double said = row.at("major_faults");
    if (others) {
      said = 0;
      for (const json& file : report.at("files")) said += file.at("major_faults").get<double>();
    }
    std::printf("  %-22s truth %7.0f    reported %7.0f\n", "major faults", truth, said);
    ASSERT_GT(truth, 100);
    EXPECT_NEAR(said, truth, 0.01 * truth + (others ? 60 : 2));
    EXPECT_THAT(row.at("stacks").at(0).at("path").get<std::string>(), HasSubstr("wait_for_mapped_page"));
    if (!others) {
      EXPECT_GE(row.at("total_s").get<double>(), 0.99 * cause_s("page-fault"));
    }
  }

  TempDir folder;
  Outcome program;
  json report;
  std::map<std::string, double> answer;
};

TEST_F(HardWaits, PageFaultsOfAFileLargerThanTheMemoryLimit) {
  FATHOM_NEEDS_BPF();
  const std::string path = make_file(160);
  if (path.empty()) GTEST_SKIP() << "the folder for temporary files is on no disk";
  std::string why;
  const std::string limit = std::to_string(24 << 20);
  const auto group =
      ControlGroup::make("memory", {{"memory.max", "memory.limit_in_bytes"}, {limit, limit}}, why);
  if (!group) GTEST_SKIP() << why;
  record(group->inside({HARD_WAITS, "limited-faults", "5", path}));
  if (HasFatalFailure()) return;
  expect_site("wait_for_mapped_page", fault_tolerance_s());
  expect_major_faults(path, true);
}

TEST_F(HardWaits, PageFaultsOfAFileThatTheCacheHasDropped) {
  FATHOM_NEEDS_BPF();
  const std::string path = make_file(64);
  if (path.empty()) GTEST_SKIP() << "the folder for temporary files is on no disk";
  record({HARD_WAITS, "dropped-faults", "4", path});
  if (HasFatalFailure()) return;
  expect_site("wait_for_mapped_page", fault_tolerance_s());
  expect_major_faults(path, false);
}

TEST_F(HardWaits, MinorFaultsAreEstimatedFromAPart) {
  FATHOM_NEEDS_BPF();
  record({HARD_WAITS, "minor-faults", "3"});
  if (HasFatalFailure()) return;
  const double truth = answer.at("minor_faults");
  double said = 0, on_site = 0;
  for (const json& row : report.at("files")) {
    said += row.at("minor_faults").get<double>();
    for (const json& stack : row.at("stacks")) {
      if (stack.at("path").get<std::string>().find("touch_new_memory") != std::string::npos)
        on_site += stack.at("minor_faults").get<double>();
    }
  }
  std::printf("  %-22s truth %7.0f    reported %7.0f, on the site %.0f\n", "minor faults", truth, said,
              on_site);
  EXPECT_NEAR(on_site, truth, 0.02 * truth + 2 * 64);
  EXPECT_NEAR(said, truth, 0.02 * truth + 20 * 64);  // and those of its start
}

TEST_F(HardWaits, ThreadsThatCompeteForACpuStandInItsQueue) {
  FATHOM_NEEDS_BPF();
  record({HARD_WAITS, "compete", "5"});
  if (HasFatalFailure()) return;
  // The sums of a thread contain the walks of its stack; its own clock calls them running.
  const double walked_s = report.at("quality").at("waits").at("switch_s");
  double queued_s = 0;
  for (const char* name : {"rival-1", "rival-2"}) {
    const double truth_s = answer.at(std::string(name) + ".queued");
    for (const json& thread : report.at("threads")) {
      if (thread.at("name") != name) continue;
      const double said_s = thread.at("run_queue_s");
      std::printf("  %-22s truth %7.3f s  reported %7.3f s in the run queue\n", name, truth_s, said_s);
      EXPECT_NEAR(said_s, truth_s, 0.01 * truth_s + 0.01 + walked_s) << name;
      const double ran_s = answer.at(std::string(name) + ".ran");
      EXPECT_NEAR(thread.at("ran_s").get<double>(), ran_s, 0.01 * ran_s + 0.02 + walked_s) << name;
    }
    queued_s += truth_s;
  }
  ASSERT_GT(queued_s, 2);
  // These are estimates: of so many preemptions a part is walked. At the least, all of it is on the site.
  std::printf("  %-22s %.3f s of %.3f s\n", "estimated on the site", on_site_s("burn"), cause_s("run-queue"));
  EXPECT_GE(on_site_s("burn"), 0.99 * cause_s("run-queue") - 0.02);
}

TEST_F(HardWaits, ManyPreemptionsDoNotHideTheOneLongWait) {
  FATHOM_NEEDS_BPF();
  const Running rival({HARD_WAITS, "rival", "30"});
  record({HARD_WAITS, "preempted", "0.25"});
  if (HasFatalFailure()) return;
  for (const json& thread : report.at("threads")) {
    ASSERT_GE(thread.at("preemptions").get<int>(), 500)
        << "the rival had the CPU for itself, or preemptions are not seen";
  }
  expect_site("wait_after_all");
}

// Few of the waits before it are walked, and it is probably none of these.
TEST_F(HardWaits, ManyShortWaitsDoNotHideTheLongOneThatStillLasts) {
  FATHOM_NEEDS_BPF();
  const Outcome recorded = fathom({"record", "-q", "-o", file(), "-d", "2", "--", HARD_WAITS, "burst", "9"});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const Outcome said =
      fathom({"report", file(), "--metric", "off-cpu", "--show-idle", "--json", "--top", "0"});
  ASSERT_TRUE(said.ok()) << said.describe();
  report = json::parse(said.output);
  EXPECT_GE(on_site_s("wait_after_burst"), 1.5);
  EXPECT_LE(on_site_s("wait_after_burst"), 2.1);
}

TEST_F(HardWaits, CpuQuotaOfTheControlGroup) {
  FATHOM_NEEDS_BPF();
  std::string why;
  const auto group =
      ControlGroup::make("cpu", {{"cpu.max", "cpu.cfs_quota_us"}, {"30000 100000", "30000"}}, why);
  if (!group) GTEST_SKIP() << why;
  record(group->inside({HARD_WAITS, "throttled", "4"}));
  if (HasFatalFailure()) return;
  expect_site("burn", 0.02 + 2 * error_s());
  // What the group says about itself; in version 1 in nanoseconds, in version 2 in microseconds.
  double truth_s = 0;
  std::istringstream stat(group->read("cpu.stat"));
  for (std::string key, value; stat >> key >> value;) {
    if (key == "throttled_time") truth_s = std::stod(value) * 1e-9;
    if (key == "throttled_usec") truth_s = std::stod(value) * 1e-6;
  }
  std::printf("  %-22s truth %7.3f s  reported %7.3f s\n", "throttled", truth_s, cause_s("throttled"));
  if (truth_s < 1) GTEST_SKIP() << "the quota was hardly used: " << truth_s << " s; others have the CPUs";
  EXPECT_NEAR(cause_s("throttled"), truth_s, 0.05 * truth_s);
}

// The wait is over when the thread is woken; from then on it stands in the run queue.
TEST_F(HardWaits, CompletionsOfARing) {
  FATHOM_NEEDS_BPF();
  record({HARD_WAITS, "ring", "3"});
  if (HasFatalFailure()) return;
  if (answer.contains("unavailable")) GTEST_SKIP() << "io_uring is not allowed here";
  expect_site("wait_in_ring");
  EXPECT_GE(cause_s("io-uring") + cause_s("run-queue"), 0.99 * answer.at("wait_in_ring") - 0.02);
}

TEST_F(HardWaits, Children) {
  FATHOM_NEEDS_BPF();
  record({HARD_WAITS, "children", "3"}, {"--no-children"});
  if (HasFatalFailure()) return;
  expect_site("wait_for_child");
  EXPECT_GE(cause_s("child") + cause_s("run-queue"), 0.99 * answer.at("wait_for_child") - 0.02);
}

TEST_F(HardWaits, EventLoop) {
  FATHOM_NEEDS_BPF();
  record({HARD_WAITS, "epoll", "3"});
  if (HasFatalFailure()) return;
  expect_site("wait_for_event");
  EXPECT_GE(cause_s("poll") + cause_s("run-queue"), 0.99 * answer.at("wait_for_event") - 0.02);
}

}  // namespace
}  // namespace fathom::support
