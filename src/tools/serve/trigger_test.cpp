#include "tools/serve/trigger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "tools/serve/log_watch.h"
#include "tools/serve/oom_count.h"
#include "tools/serve/usage.h"

namespace fathom::serve {
namespace {

constexpr std::uint64_t kTenth = 100'000'000;

TEST(Triggers, AreReadAsTheyAreSaid) {
  struct Case {
    const char* text;
    Trigger::What what;
    bool above;
    double limit;
  };
  const Case cases[] = {
      {"cpu > 50%", Trigger::What::kCpu, true, 0.5},
      {"cpu>150%", Trigger::What::kCpu, true, 1.5},
      {" CPU < 5 %", Trigger::What::kCpu, false, 0.05},
      {"rss > 4g", Trigger::What::kRss, true, 4.0 * 1024 * 1024 * 1024},
      {"rss > 1.5GiB", Trigger::What::kRss, true, 1.5 * 1024 * 1024 * 1024},
      {"rss > 100000", Trigger::What::kRss, true, 100000},
      {"rss > +60m/min", Trigger::What::kSlope, true, 1024 * 1024},
      {"rss > +1k/s", Trigger::What::kSlope, true, 1024},
      {"p99 futex > 50ms", Trigger::What::kP99, true, 0.05},
      {"p99 file-read > 1.5 s", Trigger::What::kP99, true, 1.5},
      {"p99 run-queue>300us", Trigger::What::kP99, true, 300e-6},
      {" OOM ", Trigger::What::kOom, true, 0},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.text);
    const auto trigger = parse_trigger(each.text);
    ASSERT_TRUE(trigger) << trigger.error().message;
    EXPECT_EQ(trigger->what, each.what);
    EXPECT_EQ(trigger->above, each.above);
    EXPECT_DOUBLE_EQ(trigger->limit, each.limit);
  }
  for (const char* wrong : {"", "cpu", "cpu > ", "cpu > 50", "cpu > +5%", "mem > 4g", "rss > 4x", "rss > -4g",
                            "rss > +4g", "rss > +4g/day", "rss > nan", "> 5%", "p99 > 5ms", "p99 love > 5ms",
                            "p99 futex > 5", "p99 futex > +5ms", "oom > 1", "rss > 4g more"})
    EXPECT_FALSE(parse_trigger(wrong)) << wrong;
}

TEST(Triggers, OutOfMemoryFiresForEachKillAndNotForThoseOfBefore) {
  TriggerWatch watch(*parse_trigger("oom"));
  EXPECT_TRUE(watch.outlives_target());
  const auto take = [&](std::optional<std::uint64_t> kills) {
    TriggerReading reading;
    reading.oom_kills = kills;
    return watch.take(reading).value_or("");
  };
  EXPECT_EQ(take(std::nullopt), "");
  EXPECT_EQ(take(7), "");
  EXPECT_EQ(take(7), "");
  EXPECT_EQ(take(8), "out of memory: the kernel killed 1 process");
  EXPECT_EQ(take(10), "out of memory: the kernel killed 2 processes");
  EXPECT_EQ(take(0), "") << "another control group";
  EXPECT_EQ(take(1), "out of memory: the kernel killed 1 process");
}

TEST(Triggers, KillsAreReadFromTextsWithANameInEachLine) {
  EXPECT_EQ(oom_kills_in("low 0\noom 5\noom_kill 3\noom_group_kill 1\n"), 3U);
  EXPECT_EQ(oom_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 12"), 12U);
  EXPECT_EQ(oom_kills_in("oom_kill_disable 0\n"), std::nullopt);
  EXPECT_EQ(oom_kills_in("oom_kill x\n"), std::nullopt);
}

// A hundred waits of 1 ms and two of 80 ms: the second of these is beyond 99 %.
TEST(Triggers, APercentileIsOfWaitsOfOneCause) {
  model::Profile stretch;
  stretch.meta.start_ns = 1'000'000'000;
  stretch.meta.end_ns = 11'000'000'000;
  stretch.threads.push_back({});
  for (int i = 0; i < 102; ++i) {
    model::Wait wait;
    wait.start_ns = stretch.meta.start_ns + static_cast<std::uint64_t>(i) * 90'000'000;
    wait.queued_ns = i < 100 ? 1'000'000 : 80'000'000;
    stretch.waits.push_back(wait);
  }
  const WaitP99 p99 = wait_p99(stretch);
  EXPECT_DOUBLE_EQ(p99[static_cast<std::size_t>(analysis::Cause::kRunQueue)], 0.08);
  EXPECT_LT(p99[static_cast<std::size_t>(analysis::Cause::kFutex)], 0) << "there are none";
  TriggerWatch above(*parse_trigger("p99 run-queue > 50ms")), beyond(*parse_trigger("p99 run-queue > 90ms"));
  TriggerReading reading;
  reading.time_ns = 1;
  EXPECT_FALSE(above.take(reading)) << "no stretch has ended";
  reading.p99_s = p99;
  EXPECT_EQ(above.take(reading).value_or(""), "p99 run-queue > 50ms: 80 ms");
  EXPECT_FALSE(beyond.take(reading));
}

TEST(Triggers, FireOnceWhenTheConditionBeginsToHoldAndAgainAfterAPause) {
  TriggerWatch watch(*parse_trigger("cpu > 50%"));
  int fired = 0;
  double cpu_s = 0;
  std::uint64_t now = 0;
  const auto run = [&](double seconds, double share) {
    for (int i = 0; i < seconds * 10; ++i) {
      now += kTenth;
      cpu_s += 0.1 * share;
      fired += watch.take({now, cpu_s, 0}) ? 1 : 0;
    }
  };
  run(5, 0.2);
  EXPECT_EQ(fired, 0);
  run(20, 0.9);
  EXPECT_EQ(fired, 1);
  run(5, 0.1);
  run(5, 0.9);
  EXPECT_EQ(fired, 1) << "ten seconds have not passed";
  run(15, 0.1);
  run(5, 0.9);
  EXPECT_EQ(fired, 2);
}

TEST(Triggers, ASlopeIsOfTenSecondsAndNotOfOneStep) {
  TriggerWatch watch(*parse_trigger("rss > +10m/s"));
  int fired = 0;
  std::uint64_t now = 0;
  double rss = 0;
  for (int i = 0; i < 300; ++i) {
    now += kTenth;
    if (i == 100) rss += 50e6;  // a step of 50 MB is 5 MB/s over ten seconds
    fired += watch.take({now, 0, rss}) ? 1 : 0;
  }
  EXPECT_EQ(fired, 0);
  for (int i = 0; i < 150; ++i) {
    now += kTenth;
    rss += 2e6;  // 20 MB/s
    fired += watch.take({now, 0, rss}) ? 1 : 0;
  }
  EXPECT_EQ(fired, 1);
}

TEST(Usage, AProcessThatJoinsDoesNotBringTheTimeThatItUsedBefore) {
  volatile std::uint64_t sum = 0;
  while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < 50'000'000) sum = sum + 1;  // five ticks or more
  Usage usage;
  const std::uint64_t now = monotonic_ns();
  EXPECT_EQ(usage.take({}, now).cpu_s, 0);
  const TriggerReading joined = usage.take({::getpid()}, now + 1);
  EXPECT_EQ(joined.cpu_s, 0);
  EXPECT_GT(joined.rss_bytes, 0);
  const std::uint64_t end = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 50'000'000;
  while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end) sum = sum + 1;
  const double used = usage.take({::getpid()}, now + 2).cpu_s;
  EXPECT_GT(used, 0);
  EXPECT_EQ(usage.take({}, now + 3).cpu_s, used) << "it ended";
}

TEST(LogWatch, SeesNewLinesOnlyAlsoOfAFileThatIsRenamedOrCutShort) {
  std::string folder = (std::filesystem::temp_directory_path() / "fathom-log-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/a.log";
  const auto append = [&](const char* text) { std::ofstream(path, std::ios::app) << text; };
  EXPECT_THAT(LogWatch::open(path + ":x")->problem().value_or(""), testing::HasSubstr("No such file"));
  EXPECT_THAT(LogWatch::open(folder + ":x")->problem().value_or(""),
              testing::HasSubstr("not a regular file"));
  append("ERROR before\n");
  auto watch = LogWatch::open(path + ":ERROR.*(x|before)");
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_EQ(watch->problem(), std::nullopt);
  EXPECT_FALSE(watch->take());
  append("fine\nERROR x 1\nERROR x 2\n");
  EXPECT_EQ(watch->take(), "ERROR x 1");
  EXPECT_FALSE(watch->take()) << "the second one was taken along";
  append("ERR");
  EXPECT_FALSE(watch->take());
  append("OR x in two pieces\n");
  EXPECT_EQ(watch->take(), "ERROR x in two pieces");
  append("ERROR x last\n");
  std::filesystem::rename(path, path + ".1");
  append("nothing\n");
  EXPECT_EQ(watch->take(), "ERROR x last");
  append("ERROR x of the new file\n");
  EXPECT_EQ(watch->take(), "ERROR x of the new file");
  std::filesystem::resize_file(path, 0);
  EXPECT_FALSE(watch->take());
  append("ERROR x again\n");
  EXPECT_EQ(watch->take(), "ERROR x again");
  append((std::string(1 << 20, 'a') + "\nERROR x\n").c_str());
  EXPECT_EQ(watch->take(), "ERROR x");
  std::filesystem::remove_all(folder);
  for (const char* wrong : {"", "a", ":x", "a:", "a:("}) EXPECT_FALSE(LogWatch::open(wrong)) << wrong;
}

}  // namespace
}  // namespace fathom::serve
