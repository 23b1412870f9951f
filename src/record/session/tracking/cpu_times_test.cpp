#include "record/session/tracking/cpu_times.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "linux/process/threads.h"

namespace fathom::session {
namespace {

struct DeafWalker : WalkerControl {
  void set_mappings(std::int32_t, std::span<const unwind_mapping>, std::uint32_t) override {}
  void forget(std::int32_t) override {}
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known; }
};

// A killed program with threads of which some still waited for a CPU to end: half of its samples seemed to be missing.
TEST(CpuTimes, OfAThreadThatEndsAndIsStillThereCountsOnce) {
  model::Profile profile;
  model::Builder builder{profile};
  symbolize::Worker symbols{symbolize::Options{}};
  ModuleCatalog modules{builder, symbols,
                        [](const unwind::Table&) { return std::optional<sources::TableSlot>(); }};
  DeafWalker walker;
  ProcessTable table{profile, modules, walker, true};
  const std::int32_t self = ::getpid();
  table.expect_exec(self, 1);
  table.apply(sources::ProcessExeced{2, self, self, "target"});
  ASSERT_EQ(table.threads(self).size(), 1u);
  const std::uint64_t busy_until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 30'000'000;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < busy_until) {
  }
  CpuTimes times(table);
  times.refresh({});
  const auto ran = process::read_schedstat(self, self);
  ASSERT_TRUE(ran);
  sources::ThreadCpuTime end;
  end.pid = end.tid = self;
  end.cpu_ns = ran->ran_ns;
  times.ended(end);
  for (int i = 0; i < 5; ++i) times.refresh({});
  EXPECT_GE(times.total_ns(), 30'000'000u);
  EXPECT_LE(times.total_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID));
  EXPECT_EQ(times.ended_threads(), 1u);
}

}  // namespace
}  // namespace fathom::session
