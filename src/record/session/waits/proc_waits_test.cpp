#include "record/session/waits/proc_waits.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <thread>

#include "base/abi/walk.h"
#include "base/clock.h"

namespace fathom::session {
namespace {

class NoWalker final : public WalkerControl {
 public:
  void set_mappings(std::int32_t, std::span<const unwind_mapping>, std::uint32_t) override {}
  void forget(std::int32_t) override {}
  std::uint32_t epoch_after_exec(std::int32_t, std::uint32_t known) override { return known + 1; }
};

volatile int g_after;

[[gnu::noinline]] void rests(long us) {
  const timespec time{0, us * 1000};
  ::nanosleep(&time, nullptr);
  g_after = 1;
}
[[gnu::noinline]] void polls(int ms) {
  ::poll(nullptr, 0, ms);
  g_after = 2;
}

struct Truth {
  std::atomic<std::uint64_t> rested_ns, polled_ns;
};

// A child that sleeps and polls until it is killed, and reports how long both took.
class Target {
 public:
  Target() {
    void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    truth_ = new (shared) Truth{};
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::thread idle([] {
      for (;;) ::pause();
    });
    for (std::uint64_t now = monotonic_ns();;) {
      rests(8000);
      const std::uint64_t between = monotonic_ns();
      truth_->rested_ns += between - now;
      polls(4);
      now = monotonic_ns();
      truth_->polled_ns += now - between;
    }
  }
  ~Target() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(truth_, 4096);
  }
  pid_t pid() const { return pid_; }
  double share_rested() const {
    const auto rested = static_cast<double>(truth_->rested_ns);
    return rested / (rested + static_cast<double>(truth_->polled_ns));
  }

 private:
  Truth* truth_;
  pid_t pid_;
};

TEST(ProcWaits, ReportsWhereAllThreadsWaitedAndForHowLong) {
  model::Profile profile;
  model::Builder builder(profile);
  symbolize::Worker symbols({});
  ModuleCatalog modules(builder, symbols, {});
  NoWalker control;
  ProcessTable processes(profile, modules, control, true);

  if (std::ifstream("/proc/self/syscall").get() == EOF) GTEST_SKIP() << "no /proc/PID/syscall here";
  const Target target;
  while (target.share_rested() == 0 || !(target.share_rested() < 1)) ::usleep(1000);
  ASSERT_TRUE(processes.read_from_proc(target.pid()));
  auto opened = ProcWaits::open(processes, false);
  ASSERT_TRUE(opened) << opened.error().message;
  ProcWaits& waits = **opened;
  std::vector<sources::Event> events, in_progress;
  const std::uint64_t begin = monotonic_ns();
  waits.enter(target.pid(), begin, events);
  // Rounds come as often as they are cheap: on a slow machine 10 a second.
  constexpr std::uint64_t kSecond = 1'000'000'000;
  for (std::uint64_t now = begin;
       now < begin + 2 * kSecond || (waits.rounds() <= 60 && now < begin + 30 * kSecond);
       now = monotonic_ns()) {
    pollfd timer{waits.timer_fd(), POLLIN, 0};
    ::poll(&timer, 1, 100);
    waits.round(monotonic_ns(), events);
    if (in_progress.empty() && now > begin + kSecond) waits.finish(0, in_progress);
  }
  waits.finish(0, events);
  const std::uint64_t end = monotonic_ns();

  std::map<std::int32_t, double> by_call;
  std::map<std::uint64_t, sources::StackSeen> stacks;
  std::map<std::int32_t, sources::ThreadWaitTime> sums;
  // What was in progress went on: its rows are no part of the sums.
  for (const sources::Event& event : in_progress)
    if (const auto* seen = std::get_if<sources::StackSeen>(&event)) stacks.emplace(seen->stack_id, *seen);
  for (const sources::Event& event : events) {
    if (const auto* seen = std::get_if<sources::StackSeen>(&event)) {
      EXPECT_TRUE(stacks.emplace(seen->stack_id, *seen).second) << "told twice";
    }
    if (const auto* sum = std::get_if<sources::ThreadWaitTime>(&event)) sums[sum->tid] = *sum;
    const auto* wait = std::get_if<sources::Waited>(&event);
    if (wait == nullptr) continue;
    by_call[wait->system_call] += static_cast<double>(wait->waited_ns) * wait->weight;
    ASSERT_TRUE(stacks.contains(wait->stack_id)) << "a wait before its stack";
    EXPECT_EQ(stacks[wait->stack_id].end, WALK_ROOT);
    EXPECT_GE(wait->out_ns, begin);
  }
  ASSERT_FALSE(events.empty());
  const double rested = by_call[SYS_clock_nanosleep], polled = by_call[SYS_poll];
  EXPECT_NEAR(rested / (rested + polled), target.share_rested(), 0.15);
  const auto lasted = static_cast<double>(end - begin);
  EXPECT_NEAR(by_call[SYS_pause], lasted, 0.1 * lasted);

  ASSERT_EQ(sums.size(), 2u);
  for (const auto& [tid, sum] : sums) {
    EXPECT_NEAR(static_cast<double>(sum.ran_ns + sum.waited_ns + sum.queued_ns), lasted, 0.1 * lasted);
  }
  EXPECT_GT(waits.rounds(), 40u);
  RecordProperty("ns_of_a_look", static_cast<int>(waits.cpu_ns() / waits.looks()));
  EXPECT_LT(waits.cpu_ns(), (end - begin) / 10);
}

}  // namespace
}  // namespace fathom::session
