#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "linux/memory/memory_sampler.h"

namespace fathom::sources {
namespace {

TEST(Pressure, TotalsOfBothLines) {
  EXPECT_EQ(parse_pressure("some avg10=0.12 avg60=0.00 avg300=0.00 total=12345\n"
                           "full avg10=0.00 avg60=0.00 avg300=0.00 total=678\n"),
            (Pressure{12345, 678}));
  EXPECT_EQ(parse_pressure("some avg10=0.00 total=5\n"), (Pressure{5, 0}));
  EXPECT_FALSE(parse_pressure(""));
  EXPECT_FALSE(parse_pressure("some avg10=0.00 total=x\n"));
}

TEST(Refaults, AreReadFromBothVersionsOfControlGroups) {
  EXPECT_EQ(
      parse_refaults(
          "anon 4096\nworkingset_refault_anon 7\nworkingset_refault_file 40\nworkingset_activate_file 3\n"),
      (Refaults{40, 7}));
  EXPECT_EQ(parse_refaults("workingset_refault_file 1\ntotal_cache 9\ntotal_workingset_refault_anon 0\n"
                           "total_workingset_refault_file 41\n"),
            (Refaults{41, 0}));
  EXPECT_EQ(parse_refaults("workingset_refault 12\n"), (Refaults{12, std::nullopt})) << "before 5.9";
  EXPECT_EQ(parse_refaults(""), Refaults{});
}

TEST(MemoryLimit, NoneIsNoNumber) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1073741824u);
  EXPECT_FALSE(parse_memory_limit("max\n"));
  EXPECT_FALSE(parse_memory_limit("9223372036854771712\n"));
  EXPECT_FALSE(parse_memory_limit(""));
}

double value_of(const std::vector<SeriesValue>& values, std::string_view name) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.name == name; });
  return found == values.end() ? -1 : found->value;
}

TEST(MemorySampler, GrowthIsSeenInTheRightSeries) {
  auto sampler = MemorySampler::open(::getpid());
  ASSERT_TRUE(sampler) << sampler.error().message;
  std::vector<SeriesValue> before, after;
  ASSERT_TRUE(sampler->read(before));
  std::vector<char> touched(32 << 20, 'x');
  ASSERT_TRUE(sampler->read(after));
  EXPECT_GT(value_of(after, "memory.rss_anon"), value_of(before, "memory.rss_anon") + (30 << 20))
      << touched.back();
  EXPECT_GT(value_of(after, "memory.minor_faults"), value_of(before, "memory.minor_faults"));
  EXPECT_GT(value_of(after, "memory.rss_file"), 0);
  EXPECT_GT(value_of(after, "memory.page_tables"), 0);
  EXPECT_GE(value_of(after, "memory.swap"), 0);
}

// Of the control group or of the machine, each resource by itself.
TEST(MemorySampler, PressureOfEachResourceIsReadWhereTheKernelCountsIt) {
  auto sampler = MemorySampler::open(::getpid());
  ASSERT_TRUE(sampler) << sampler.error().message;
  std::vector<SeriesValue> values;
  ASSERT_TRUE(sampler->read(values));
  for (const std::string resource : {"memory", "cpu", "io"}) {
    const auto counters = std::count_if(values.begin(), values.end(), [&](const SeriesValue& value) {
      return value.name == "cgroup." + resource + "_stall_some" ||
             value.name == "system." + resource + "_stall_some";
    });
    // A file that is there and is not readable means a kernel that was started with psi=0.
    std::ifstream file("/proc/pressure/" + resource);
    const bool counted_by_kernel = file && file.peek() != std::ifstream::traits_type::eof();
    if (counted_by_kernel) {
      EXPECT_EQ(counters, 1) << resource;
    } else {
      EXPECT_LE(counters, 1) << resource;  // a control group may have it though the machine does not show it
    }
  }
}

TEST(MemorySampler, ZombieHasNoMemoryAndAGoneProcessIsReported) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  auto sampler = MemorySampler::open(child);
  ASSERT_TRUE(sampler);
  std::vector<SeriesValue> values;
  EXPECT_TRUE(sampler->read(values));
  EXPECT_GT(value_of(values, "memory.rss_anon"), 0);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  values.clear();
  EXPECT_TRUE(sampler->read(values));
  EXPECT_EQ(value_of(values, "memory.rss_anon"), -1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(sampler->read(values).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(MemorySampler::open(child).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::sources
