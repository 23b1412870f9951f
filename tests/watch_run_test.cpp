// fathom watch, as a user runs it: compared with programs that hold known amounts of memory, and with the
// kernel's own sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "linux/memory/testing_kernel.h"
#include "support/control_group.h"
#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/terminal.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;

class WatchRun : public testing::Test {
 protected:
  void start_known_memory() {
    target_.emplace(std::vector<std::string>{KNOWN_MEMORY, "600"});
    ASSERT_TRUE(wait_until([&] { return target_->output_so_far().find('}') != std::string::npos; },
                           milliseconds(60'000)));
  }
  std::map<std::string, double> stop_and_ask() {
    const Outcome outcome = target_->kill_and_wait();
    return answer_of(outcome);
  }
  std::string pid() const { return std::to_string(target_->pid()); }
  json look() const {
    const Outcome outcome = fathom({"watch", pid(), "--once", "--json"});
    if (!outcome.ok()) throw std::runtime_error(outcome.describe());
    return json::parse(outcome.output);
  }
  // Of one kind, with this in its name.
  static double part(const json& look, std::string_view kind, std::string_view name = "") {
    double sum = 0;
    for (const json& part : look.at("parts"))
      if (part.at("kind") == kind && part.at("name").get<std::string>().find(name) != std::string::npos)
        sum += part.at("bytes").get<double>();
    return sum;
  }
  static double sum_of_parts(const json& look) {
    double sum = 0;
    for (const json& part : look.at("parts")) sum += part.at("bytes").get<double>();
    return sum;
  }
  TempDir folder_;
  std::optional<Running> target_;
};

TEST_F(WatchRun, OfAStoppedProgramTheLinesAreWhatItTookAndNothingIsUnexplained) {
  if (!sources::kernel_tells_rss_exactly()) GTEST_SKIP() << "RSS is exact since Linux 6.16";
  start_known_memory();
  target_->send(SIGSTOP);
  json seen;
  // The kernel may take back pages of files meanwhile; then it is looked at again.
  for (int attempt = 0; attempt < 20; ++attempt) {
    seen = look();
    if (!seen.at("moved_during_reading").get<bool>()) break;
  }
  ASSERT_FALSE(seen.at("moved_during_reading").get<bool>());
  EXPECT_EQ(seen.at("unexplained_bytes"), 0) << seen.dump(1);
  EXPECT_EQ(sum_of_parts(seen), seen.at("rss_bytes").get<double>());
  EXPECT_EQ(seen.at("parts_source"), "pagemap_scan");
  const auto truth = stop_and_ask();
  EXPECT_NEAR(part(seen, "thread-stacks"), truth.at("thread_stacks"), 128 * kKiB);
  EXPECT_NEAR(part(seen, "copied-pages", "known_memory"), truth.at("bss") + truth.at("file_changed"),
              512 * kKiB);
  EXPECT_NEAR(part(seen, "file", "known_memory_"), truth.at("file"), 2.2 * kMiB);
  EXPECT_NEAR(
      part(seen, "memfd") + part(seen, "shared-anonymous") + part(seen, "system-v") + part(seen, "shm"),
      truth.at("shared"), 64 * kKiB);
}

TEST_F(WatchRun, OfOneThatRunsTheRestIsSmall) {
  FATHOM_NEEDS_PAGE_SCAN();
  start_known_memory();
  const json seen = look();
  EXPECT_LE(std::fabs(seen.at("unexplained_bytes").get<double>()), 0.005 * seen.at("rss_bytes").get<double>())
      << seen.dump(1);
}

TEST_F(WatchRun, IntoAPipeThereIsALineForEachLookAndSigintEndsIt) {
  start_known_memory();
  auto command = fathom_command({"watch", pid(), "--interval", "0.1", "--log", folder_ / "x.csv"});
  Running watch(command);
  ASSERT_TRUE(wait_until(
      [&] {
        const std::string text = watch.output_so_far();
        return std::count(text.begin(), text.end(), '\n') >= 5;
      },
      milliseconds(30'000)));
  watch.send(SIGINT);
  const Outcome outcome = watch.wait(milliseconds(20'000));
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_THAT(outcome.output, HasSubstr("known_memory (pid " + pid() + "): RSS "));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b"))) << "no terminal, no codes";
  const std::string table = read_file(folder_ / "x.csv").value();
  EXPECT_TRUE(table.starts_with("time,pid,name,rss_bytes,")) << table.substr(0, 100);
  EXPECT_GE(std::count(table.begin(), table.end(), '\n'), 6);
}

// The recording is complete however the watch ends, and no recorder is left.
TEST_F(WatchRun, AFlightRecordingRunsAlongWithIt) {
  start_known_memory();
  Running watch(fathom_command({"watch", pid(), "--interval", "0.1", "--flight", folder_ / "x.fathom"}));
  ASSERT_TRUE(
      wait_until([&] { return std::filesystem::exists(folder_ / "x.fathom"); }, milliseconds(60'000)));
  watch.send(SIGINT);
  const Outcome outcome = watch.wait(milliseconds(60'000));
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("next: fathom report"));
  const Outcome report = fathom({"report", folder_ / "x.fathom"});
  EXPECT_TRUE(report.ok()) << report.describe();
  EXPECT_THAT(report.output, HasSubstr("RSS "));
}

TEST_F(WatchRun, TheDeathOfTheTargetIsReportedWithItsLastRss) {
  start_known_memory();
  Running watch(fathom_command({"watch", pid(), "--json", "--interval", "0.1"}));
  ASSERT_TRUE(wait_until([&] { return watch.output_so_far().find('\n') != std::string::npos; },
                         milliseconds(30'000)));
  target_->send(SIGKILL);
  const Outcome outcome = watch.wait(milliseconds(20'000));
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  const std::size_t last = outcome.output.rfind('\n', outcome.output.size() - 2);
  const json ended = json::parse(outcome.output.substr(last + 1));
  EXPECT_THAT(ended.at("ended").get<std::string>(), HasSubstr("signal 9 (SIGKILL)"));
  EXPECT_GT(ended.at("last_rss_bytes").get<double>(), 10 * kMiB);
}

TEST_F(WatchRun, OnATerminalTheScreenIsDrawnAgainWhenItsSizeChangesAndEndsWithAKey) {
  start_known_memory();
  std::vector<std::string> command{"env", "TERM=xterm"};
  for (std::string& word : fathom_command({"watch", pid(), "--interval", "3600"}))
    command.push_back(std::move(word));
  Terminal terminal(command);
  ASSERT_TRUE(terminal.wait_for("fathom: ")) << terminal.screen();
  ::kill(terminal.pid(), SIGWINCH);
  ASSERT_TRUE(terminal.wait_for("fathom: ")) << "drawn again long before the next look";
  EXPECT_THAT(terminal.screen(), HasSubstr("thread stacks"));
  terminal.type("o");
  ASSERT_TRUE(terminal.wait_for("order by size")) << terminal.screen();
  terminal.type(" ");
  ASSERT_TRUE(terminal.wait_for("frozen")) << terminal.screen();
  terminal.type("q");
  EXPECT_EQ(terminal.wait(milliseconds(20'000)), 0);
  const std::string& screen = terminal.screen();
  EXPECT_THAT(screen.substr(screen.rfind("\x1b[?1049l")), HasSubstr("thread stacks"))
      << "the last reading stays";
}

TEST_F(WatchRun, OnATerminalWithoutKeysItPrintsLines) {
  start_known_memory();
  std::vector<std::string> command{"env", "TERM=xterm", "sh", "-c", "exec \"$@\" < /dev/null", "sh"};
  for (std::string& word : fathom_command({"watch", pid(), "--interval", "0.1"}))
    command.push_back(std::move(word));
  Terminal terminal(command);
  ASSERT_TRUE(terminal.wait_for("RSS ")) << terminal.screen();
  ASSERT_TRUE(terminal.wait_for("RSS ")) << terminal.screen();
  terminal.type(Terminal::kCtrlC);
  EXPECT_EQ(terminal.wait(milliseconds(20'000)), 0);
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("\x1b")));
}

TEST_F(WatchRun, TheMappingsAddUpToRss) {
  start_known_memory();
  target_->send(SIGSTOP);
  const Outcome outcome = fathom({"watch", pid(), "--maps", "--json"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  double sum = 0, before = INFINITY;
  const json all = json::parse(outcome.output);
  for (const json& mapping : all.at("mappings")) {
    const double rss = mapping.at("rss_bytes").get<double>();
    EXPECT_LE(rss, before) << "most resident first";
    before = rss;
    sum += rss;
    EXPECT_FALSE(mapping.at("name").get<std::string>().empty());
  }
  EXPECT_NEAR(sum, look().at("rss_bytes").get<double>(), 0.01 * sum);
  const Outcome table = fathom({"watch", pid(), "--maps"});
  EXPECT_THAT(table.output, HasSubstr("resident"));
}

// A supervisor removes the group of a service that died, and with it the kernel's count of its kills.
TEST_F(WatchRun, ADeathInARemovedGroupHasAnUnknownReason) {
  std::string why;
  auto group = ControlGroup::make("memory",
                                  {{"memory.max", "memory.limit_in_bytes"}, {"134217728", "134217728"}}, why);
  if (!group) GTEST_SKIP() << why;
  for (const bool is_gone : {false, true}) {
    target_.emplace(group->inside({"sleep", "100"}));
    ASSERT_TRUE(wait_until(
        [&] {
          const auto name = read_file("/proc/" + pid() + "/comm");
          return name && *name == "sleep\n";
        },
        milliseconds(30'000)));
    Running watch(fathom_command({"watch", pid(), "--interval", "0.1"}));
    ASSERT_TRUE(wait_until([&] { return !watch.output_so_far().empty(); }, milliseconds(30'000)));
    watch.send(SIGSTOP);  // so that it comes too late
    target_->kill_and_wait();
    if (is_gone) group.reset();
    watch.send(SIGCONT);
    const Outcome outcome = watch.wait(milliseconds(20'000));
    EXPECT_EQ(outcome.output.find("whether memory was the reason is not known: control group ") !=
                  std::string::npos,
              is_gone)
        << outcome.describe();
  }
}

TEST_F(WatchRun, WhatIsNotThereIsAnError) {
  EXPECT_EQ(fathom({"watch", "99999999", "--once"}).exit_status, 3);
  EXPECT_EQ(fathom({"watch", "no-such-program-at-all", "--once"}).exit_status, 3);
  EXPECT_EQ(fathom({"watch"}).exit_status, 2);
  EXPECT_EQ(fathom({"watch", "1", "--interval", "0.01"}).exit_status, 2) << "ten looks a second at most";
}

}  // namespace
}  // namespace fathom::support
