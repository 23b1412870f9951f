// A recording of a program that the kernel kills at its limit: what its report says of the death, against the program's own
// book, which outlives it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/control_group.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double kMiB = 1 << 20;

class FlightRecorder : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    // Asks the kernel, not the code under test.
    std::string why;
    auto group = ControlGroup::make(
        "memory", {{"memory.max", "memory.limit_in_bytes"}, {"134217728", "134217728"}}, why);
    if (!group) GTEST_SKIP() << why;
    group_ = std::make_unique<ControlGroup>(std::move(*group));
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  // bytes and blocks of insert_into_index, then of block_cache.
  std::array<std::uint64_t, 4> book() const {
    std::array<std::uint64_t, 4> numbers{};
    std::ifstream file(path("book"), std::ios::binary);
    file.read(reinterpret_cast<char*>(numbers.data()), sizeof(numbers));
    return numbers;
  }
  std::vector<std::string> leak(const std::string& rate, const std::string& gate = "") const {
    std::vector<std::string> command{KNOWN_LEAK, rate, "20", "400", path("book")};
    if (!gate.empty()) command.push_back(gate);
    return command;
  }
  json death() const {
    const Outcome report = fathom({"report", path("x.fathom"), "--json"});
    EXPECT_EQ(report.exit_status, 0) << report.describe();
    const json read = json::parse(report.output, nullptr, false);
    return read.contains("death") ? read["death"] : json();
  }
  void expect_the_book(const json& death) const {
    ASSERT_GE(death["held_by"].size(), 2U);
    EXPECT_EQ(death["held_by"][0]["name"], "insert_into_index");
    // It may die between the allocator's answer and its own book: that is one block.
    EXPECT_NEAR(death["held_by"][0]["bytes"].get<double>(), static_cast<double>(book()[0]), 65536);
    EXPECT_NEAR(death["held_by"][0]["blocks"].get<double>(), static_cast<double>(book()[1]), 1);
    EXPECT_EQ(death["held_by"][1]["name"], "block_cache");
    EXPECT_EQ(death["held_by"][1]["bytes"].get<double>(), static_cast<double>(book()[2]));
  }

  TempDir folder_;
  std::unique_ptr<ControlGroup> group_;
};

TEST_F(FlightRecorder, DeathOfALaunchedProgramIsExplainedToTheBlock) {
  std::vector<std::string> arguments{"record", "--heap=exact", "--memory", "-o", path("x.fathom"), "--"};
  for (const std::string& word : group_->inside(leak("200"))) arguments.push_back(word);
  const Outcome recorded = fathom(arguments);
  EXPECT_EQ(recorded.exit_status, 128 + SIGKILL) << recorded.describe();
  const json died = death();
  ASSERT_TRUE(died.is_object());
  EXPECT_EQ(died["signal"], SIGKILL);
  if (::access("/dev/kmsg", R_OK) == 0) {
    EXPECT_EQ(died["verdict"], "group-limit");
    // Of more than ten kills in five seconds the kernel writes one line, without the limit.
    EXPECT_EQ(died["limit_bytes"].is_null() ? 128 * kMiB : died["limit_bytes"].get<double>(), 128 * kMiB);
  }
  expect_the_book(died);
  EXPECT_GT(book()[0], 90U << 20);
  EXPECT_EQ(died["lost_events"], 0);
}

TEST_F(FlightRecorder, DeathOfAnAttachedProgramIsExplainedToTheBlock) {
  Running target(group_->inside(leak("200", path("go"))));
  ASSERT_TRUE(
      wait_until([&] { return book()[0] == 0 && std::ifstream(path("book")).good(); }, milliseconds(30'000)));
  Running record = start_recording(path("x.fathom"), {"--heap=exact", "-p", std::to_string(target.pid())});
  const pid_t pid = target.pid();
  std::ofstream(path("go")).put('\n');
  EXPECT_EQ(record.wait(milliseconds(60'000)).exit_status, 0);
  target.wait(milliseconds(30'000));
  const json died = death();
  ASSERT_TRUE(died.is_object());
  EXPECT_EQ(died["pid"], pid);
  EXPECT_EQ(died["signal"], SIGKILL);
  expect_the_book(died);
}

TEST_F(FlightRecorder, ReportAnswersWithTheDeathAboveEverythingElse) {
  std::vector<std::string> arguments{"record", "--heap=exact", "--memory", "-o", path("x.fathom"), "--"};
  for (const std::string& word : group_->inside(leak("200"))) arguments.push_back(word);
  fathom(arguments);
  const Outcome report = fathom({"report", path("x.fathom")});
  EXPECT_THAT(report.output, HasSubstr("\n\nDeath: the kernel killed known_leak (pid "));
  EXPECT_LT(report.output.find("Death: "), report.output.find("Leak candidate"));
  EXPECT_THAT(report.output, HasSubstr("every call up to the kill"));
}

TEST_F(FlightRecorder, KillByAnotherProcessDiffersFromOneByTheKernel) {
  Running target(group_->inside(leak("1", path("never"))));
  ASSERT_TRUE(wait_until([&] { return std::ifstream(path("book")).good(); }, milliseconds(30'000)));
  Running record = start_recording(path("x.fathom"), {"--memory", "-p", std::to_string(target.pid())});
  ::kill(target.pid(), SIGKILL);
  target.wait(milliseconds(30'000));
  record.wait(milliseconds(30'000));
  EXPECT_EQ(death()["verdict"], "somebodys-kill");
}

// At 1 GB/s there are some 50 ms between 95 % of the limit and the kernel's decision.
TEST_F(FlightRecorder, FlightRecordingOfAFastLeakIsExactToTheBlockAndSaysWhatItSaw) {
  Running target(group_->inside(leak("1000", path("go"))));
  ASSERT_TRUE(
      wait_until([&] { return book()[0] == 0 && std::ifstream(path("book")).good(); }, milliseconds(30'000)));
  Running record = start_recording(
      path("x.fathom"), {"--heap=exact", "--flight", "--each", "16m", "-p", std::to_string(target.pid())});
  const pid_t pid = target.pid();
  std::ofstream(path("go")).put('\n');
  EXPECT_EQ(record.wait(milliseconds(60'000)).exit_status, 0);
  target.wait(milliseconds(30'000));
  const json died = death();
  ASSERT_TRUE(died.is_object());
  EXPECT_EQ(died["pid"], pid);
  EXPECT_EQ(died["signal"], SIGKILL);
  EXPECT_EQ(died["lost_events"], 0);
  expect_the_book(died);
  const std::vector<std::string> wall = died["wall_stack"];
  EXPECT_THAT(wall, testing::Contains("main")) << died["wall_unseen"];
  const std::vector<std::string> marks = died["marks"];
  EXPECT_THAT(marks, testing::Contains(
                         HasSubstr("an allocation of process " + std::to_string(pid) + " found no memory")));
}

// The program leaks 64 MiB and then sleeps: each step of 16 MiB was marked while it lived, and the file was there all the
// time, whole, when its recorder was killed.
TEST_F(FlightRecorder, KillOfTheRecorderCostsOnlyWhatCameSinceTheLastWrite) {
  Running target(group_->inside({KNOWN_LEAK, "50", "20", "64", path("book"), path("go")}));
  ASSERT_TRUE(
      wait_until([&] { return book()[0] == 0 && std::ifstream(path("book")).good(); }, milliseconds(30'000)));
  Running record = start_recording(
      path("x.fathom"), {"--heap=exact", "--flight", "--each", "16m", "-p", std::to_string(target.pid())});
  std::ofstream(path("go")).put('\n');
  const auto live = [&] {
    const Outcome report = fathom({"report", path("x.fathom"), "--metric", "heap-live", "--json"});
    const json read = json::parse(report.output, nullptr, false);
    return read.is_object() && read.contains("total") && read["total"].is_number()
               ? read["total"].get<double>()
               : 0;
  };
  // 84 MB are live in the end; the last write is less than 16 MiB behind, or comes in seconds.
  EXPECT_TRUE(wait_until([&] { return live() > 66e6; }, milliseconds(30'000)));
  ::kill(record.pid(), SIGKILL);
  record.wait(milliseconds(30'000));
  EXPECT_GT(live(), 66e6);
  const Outcome facts = fathom({"report", path("x.fathom"), "--json"});
  EXPECT_EQ(facts.exit_status, 0) << facts.describe();
  ::kill(target.pid(), SIGKILL);
  target.wait(milliseconds(30'000));
}

// The recorder is killed while its target is frozen, or at any other moment of its growth.
TEST_F(FlightRecorder, KillOfTheRecorderLeavesNothingFrozen) {
  std::string why;
  auto freezer = ControlGroup::make("freezer", {{"freezer.state", "cgroup.freeze"}, {"THAWED", "0"}}, why);
  if (!freezer) GTEST_SKIP() << why;
  const auto is_frozen = [&] {
    return freezer->read("freezer.state").starts_with("FR") ||
           freezer->read("cgroup.freeze").starts_with("1");
  };
  Running target(freezer->inside({KNOWN_LEAK, "8", "1", "400", path("book"), path("go")}));
  ASSERT_TRUE(
      wait_until([&] { return book()[0] == 0 && std::ifstream(path("book")).good(); }, milliseconds(30'000)));
  Running record = start_recording(
      path("x.fathom"), {"--flight", "--flight-freeze", "--each", "1m", "-p", std::to_string(target.pid())});
  std::ofstream(path("go")).put('\n');
  // It is frozen for some milliseconds a second: seen or not, the recorder dies.
  const auto give_up = std::chrono::steady_clock::now() + milliseconds(4'000);
  while (!is_frozen() && std::chrono::steady_clock::now() < give_up) {
  }
  ::kill(record.pid(), SIGKILL);
  record.wait(milliseconds(30'000));
  EXPECT_TRUE(wait_until([&] { return !is_frozen(); }, milliseconds(30'000)));
  // It runs on.
  const std::uint64_t then = book()[1];
  EXPECT_TRUE(wait_until([&] { return book()[1] > then; }, milliseconds(10'000)));
  ::kill(target.pid(), SIGKILL);
  target.wait(milliseconds(30'000));
}

}  // namespace
}  // namespace fathom::support
