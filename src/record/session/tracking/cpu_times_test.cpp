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

// This process as a target whose threads are booked.
struct Booked {
  model::Profile profile;
  model::Builder builder{profile};
  symbolize::Worker symbols{symbolize::Options{}};
  ModuleCatalog modules{builder, symbols,
                        [](const unwind::Table&) { return std::optional<sources::TableSlot>(); }};
  DeafWalker walker;
  ProcessTable table{profile, modules, walker, true};
  const std::int32_t self = ::getpid();

  Booked() {
    table.expect_exec(self, 1);
    table.apply(sources::ProcessExeced{2, self, self, "target"});
    const std::uint64_t busy_until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 30'000'000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < busy_until) {
    }
  }
  std::uint64_t ran_ns() const { return process::read_schedstat(self, self).value().ran_ns; }
  sources::ThreadCpuTime end_with(std::uint64_t cpu_ns) const {
    sources::ThreadCpuTime end;
    end.pid = end.tid = self;
    end.cpu_ns = cpu_ns;
    return end;
  }
};

// A killed program with threads of which some still waited for a CPU to end: half of its samples seemed to be missing.
TEST(CpuTimes, OfAThreadThatEndsAndIsStillThereCountsOnce) {
  Booked booked;
  ASSERT_EQ(booked.table.threads(booked.self).size(), 1u);
  CpuTimes times(booked.table);
  times.refresh({});
  times.ended(booked.end_with(booked.ran_ns()));
  for (int i = 0; i < 5; ++i) times.refresh({});
  EXPECT_GE(times.total_ns(), 30'000'000u);
  EXPECT_LE(times.total_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID));
  EXPECT_EQ(times.ended_threads(), 1u);
}

// /proc was read between the thread's end and its event, which has what was booked until its last tick.
TEST(CpuTimes, OfAThreadWhoseEndShowsLessThanWasReadCountsOnce) {
  Booked booked;
  CpuTimes times(booked.table);
  times.refresh({});
  const std::uint64_t before_ns = times.total_ns();
  times.ended(booked.end_with(before_ns - 3'000'000));
  EXPECT_EQ(times.total_ns(), before_ns);
}

// Of a program that was attached to, the time before the recording would count.
TEST(CpuTimes, OfAThreadThatRanBeforeIsThatSinceThen) {
  Booked booked;
  CpuTimes times(booked.table);
  times.begin(booked.self);
  times.ended(booked.end_with(booked.ran_ns() - 3'000'000));
  EXPECT_LE(times.total_ns(), 20'000'000u);
}

}  // namespace
}  // namespace fathom::session
