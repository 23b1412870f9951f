#include "formats/perf_script/perf_script.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/call_tree.h"
#include "model/idle_samples.h"
#include "present/exports/folded_writer.h"

namespace fathom::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTwoThreads =
    "# ========\n"
    "# hostname : lab\n"
    "# nrcpus online : 4\n"
    "# cmdline : /usr/bin/perf record -F 99 -g -- ./app --fast \n"
    "# ========\n"
    "#\n"
    "my app 10/10 [000] 100.000001:   10101010 cpu-clock:ppp: \n"
    "\tffffffff81000000 ksys_read+0x20 ([kernel.kallsyms])\n"
    "\tffffffffc0000000 ext4_read+0x8 ([ext4])\n"
    "\t    7f0000001000 inner (inlined)\n"
    "\t    7f0000001000 middle (inlined)\n"
    "\t    7f0000001000 outer+0x1 (/opt/app)\n"
    "\t    7f0000002000 [unknown] (/usr/lib/libz.so.1)\n"
    "\t           55555 main+0x10 (/opt/app)\n"
    "\n"
    "worker 10/11 [001] 100.010102:   10101010 cpu-clock:ppp: \n"
    "\t    7f0000009000 LBusy;::spin (/tmp/perf-10.map)\n"
    "\t               0 [unknown] ([unknown])\n"
    "\n";

std::string folded(const model::Profile& profile) {
  EXPECT_TRUE(model::check(profile));
  return present::write_folded(analysis::build_call_tree(profile, {}),
                               {.mark_inlined = true, .mark_jit = true});
}

TEST(PerfScript, FramesThreadsAndPeriods) {
  const model::Profile profile = read_perf_script(kTwoThreads, "x.txt").value();
  EXPECT_EQ(folded(profile),
            "my app;main;[libz.so.1];outer;middle_[i];inner_[i];ext4_read_[k];ksys_read_[k] 10101010\n"
            "worker;[unknown];LBusy:::spin_[j] 10101010\n");
  EXPECT_EQ(profile.threads[1].tid, 11);
  EXPECT_EQ(profile.processes[profile.threads[1].process.value].pid, 10);
  EXPECT_EQ(profile.samples[1].cpu, 1);
}

TEST(PerfScript, HeaderLinesBecomeFacts) {
  const model::Profile profile = read_perf_script(kTwoThreads, "x.txt").value();
  EXPECT_EQ(profile.meta.facts.at("host"), "lab");
  EXPECT_EQ(profile.meta.facts.at("cpus"), "4");
  EXPECT_EQ(profile.meta.facts.at("command"), "/usr/bin/perf record -F 99 -g -- ./app --fast");
  EXPECT_EQ(profile.meta.event, "cpu-clock:ppp");
  EXPECT_EQ(profile.meta.engine, "import");
  EXPECT_EQ(profile.meta.start_ns, 100'000'001'000u);
  EXPECT_EQ(profile.meta.end_ns, 100'010'102'000u);
}

TEST(PerfScript, ThePeriodOfAClockIsTimeThatOfACounterItsEvents) {
  EXPECT_EQ(read_perf_script("a 1 1.0: 5 cpu-clock:\n\t1 f (m)\n", "x").value().meta.facts.at("unit"), "ns");
  EXPECT_EQ(read_perf_script("a 1 1.0: 5 cycles:u:\n\t1 f (m)\n", "x").value().meta.facts.at("unit"),
            "cycles:u");
  EXPECT_FALSE(read_perf_script("a 1 1.0: cycles:u:\n\t1 f (m)\n", "x").value().meta.facts.contains("unit"));
}

TEST(PerfScript, SeveralEventsAreAddedUpAndSaid) {
  const model::Profile profile =
      read_perf_script("a 1 1.0: 5 cycles:\n\t1 f (m)\n\na 1 1.0: 7 instructions:\n\t1 f (m)\n", "x").value();
  EXPECT_EQ(folded(profile), "a;f 12\n");
  EXPECT_THAT(profile.quality.notes, ElementsAre(HasSubstr("several events (cycles, instructions)")));
}

TEST(PerfScript, ASampleWithoutStackCountsForItsThread) {
  EXPECT_EQ(folded(read_perf_script("a 1 1.0: cycles:\n\nb 2 1.0: cycles:\n\t1 f (m)\n", "x").value()),
            "a 1\nb;f 1\n");
}

TEST(PerfScript, AFrameOnTheLineOfTheEventIsItsStack) {
  EXPECT_EQ(folded(read_perf_script("   sleep 1 1.0: 3 cycles:  7f00 main+0x3 (/bin/sleep)\n   sleep 1 1.1: "
                                    "3 cycles:  7f00 f (/x)\n",
                                    "x")
                       .value()),
            "sleep;f 3\nsleep;main 3\n");
}

TEST(PerfScript, LinesThatCannotBeReadAreSkippedAndCounted) {
  const model::Profile profile =
      read_perf_script("a 1 1.0: cycles:\n\t1 f (m)\n\tnonsense\n\n\t2 orphan (m)\n", "x").value();
  EXPECT_EQ(folded(profile), "a;f 1\n");
  EXPECT_THAT(profile.quality.notes,
              ElementsAre(HasSubstr("2 lines of the text could not be read, the first is line 3")));
}

TEST(PerfScript, SideBandRecordsAreNoSamples) {
  EXPECT_EQ(
      folded(read_perf_script("a 1/1 1.0: PERF_RECORD_COMM: a:1/1\na 1/1 1.0: 1 cycles:\n\t1 f (m)\n", "x")
                 .value()),
      "a;f 1\n");
}

// As --show-mmap-events prints it: what stands in the brackets looks like an event.
TEST(PerfScript, RecordsOfMappingsAreNoSamplesEither) {
  constexpr std::string_view kMapping =
      "a 7/7 1.0: PERF_RECORD_MMAP2 7/7: [0x55881736b000(0x1000) @ 0x1000 fe:00 11051638 2923330095]: r-xp "
      "/opt/a\n";
  EXPECT_TRUE(is_perf_script(kMapping));
  std::string text(kMapping);
  text += "a 7/7 1.0: 1 cycles:\n\t1 f (m)\n";
  const auto profile = read_perf_script(text, "x").value();
  EXPECT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.meta.event, "cycles");
  EXPECT_EQ(folded(profile), "a;f 1\n");
}

TEST(PerfScript, AThreadNameThatLooksLikeAnAddressIsStillAName) {
  EXPECT_EQ(
      folded(read_perf_script("cafe 12 1.0: 1 cycles:\n\t1 f (m)\ncafe 12 1.1: 1 cycles:\n\t1 g (m)\n", "x")
                 .value()),
      "cafe;f 1\ncafe;g 1\n");
}

TEST(PerfScript, TextWithoutEventsIsAnError) {
  for (const char* text : {"", "\n", "hello\nworld\n", "# ========\n# hostname : x\n"}) {
    const Result<model::Profile> profile = read_perf_script(text, "in.txt");
    ASSERT_FALSE(profile);
    EXPECT_EQ(profile.error().message, "in.txt: no event of perf script in it");
  }
}

TEST(PerfScript, IsRecognisedByItsFirstLine) {
  EXPECT_TRUE(is_perf_script(kTwoThreads));
  EXPECT_TRUE(is_perf_script("\n\njava 19983 cycles:\n"));
  EXPECT_FALSE(is_perf_script("java;main 12\n"));
  EXPECT_FALSE(is_perf_script(""));
}

TEST(PerfScript, EveryPrefixIsReadOrRefused) {
  for (std::size_t length = 0; length < kTwoThreads.size(); ++length) {
    const Result<model::Profile> profile = read_perf_script(kTwoThreads.substr(0, length), "x");
    if (profile) {
      EXPECT_TRUE(model::check(*profile)) << length;
    } else {
      EXPECT_EQ(profile.error().kind, ErrorKind::kMalformed) << length;
    }
  }
}

TEST(PerfScript, IndentedSamplesWithoutStacksAreSamples) {
  const auto profile = read_perf_script(
      "          server 7/7 [001]  3.1: sched:sched_switch: prev_comm=server prev_pid=7 prev_state=D\n"
      "          server 7/8 [001]  3.2: sched:sched_switch: prev_comm=server prev_pid=8 prev_state=S\n",
      "x");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->samples.size(), 2u);
  EXPECT_EQ(profile->threads.size(), 2u);
}

// What perf record -a finds of CPUs without work is no work; an interrupt that comes meanwhile is.
TEST(PerfScript, IdleCpusAreCountedAndLeftOut) {
  const auto sample = [](std::string_view comm, int tid, int cpu,
                         std::initializer_list<std::string_view> frames) {
    std::string text = fmt::format("{} {}/{} [{:03}] 5.1: 1000000 cpu-clock:pppH: \n", comm, tid, tid, cpu);
    for (const std::string_view frame : frames)
      text += fmt::format("\tffffffff81000000 {}+0x1 ([kernel.kallsyms])\n", frame);
    return text + "\n";
  };
  const std::string text =
      sample("worker", 7, 0, {"crunch"}) + sample("swapper", 0, 1, {"default_idle", "do_idle"}) +
      sample("swapper", 0, 2, {"intel_idle_irq", "cpuidle_enter_state", "do_idle"}) +
      sample("swapper", 0, 3, {"[unknown]"}) + sample("swapper", 0, 3, {}) +
      sample("swapper", 0, 1, {"net_rx_action", "__do_softirq", "irq_exit_rcu", "do_idle"}) +
      sample("swapper-like", 9, 2, {"default_idle"});
  const model::Profile profile = read_perf_script(text, "x").value();
  EXPECT_EQ(folded(profile),
            "swapper-like;default_idle_[k] 1000000\n"
            "swapper;do_idle_[k];irq_exit_rcu_[k];__do_softirq_[k];net_rx_action_[k] 1000000\n"
            "worker;crunch_[k] 1000000\n");
  EXPECT_EQ(profile.meta.facts.at(model::kIdleSamplesFact), "4");
  EXPECT_EQ(profile.meta.facts.at("cpus"), "4");
  EXPECT_EQ(profile.quality.samples, 3u);
  EXPECT_THAT(profile.quality.notes, ElementsAre(HasSubstr("4 of 7 samples (57.1 %) found a CPU idle")));
  const auto all_idle = read_perf_script(sample("swapper", 0, 1, {"default_idle"}), "x");
  ASSERT_TRUE(all_idle) << all_idle.error().message;
  EXPECT_TRUE(all_idle->samples.empty());
}

}  // namespace
}  // namespace fathom::formats
