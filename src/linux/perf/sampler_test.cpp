#include "linux/perf/sampler.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/clock.h"
#include "linux/perf/event.h"
#include "linux/perf/testing_rights.h"
#include "linux/process/maps.h"
#include "linux/process/threads.h"

namespace fathom::sources {
namespace {

constexpr unsigned kNobody = 65534;

// Runs a test as an ordinary user: in a child without capabilities if we are root. As locked memory is
// counted by user, and tests run at the same time, each child is another one.
void as_nobody(void (*test)()) {
  if (::geteuid() != 0) {
    FATHOM_NEEDS_EVENT(0, -1, false);
    return test();
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const unsigned user = kNobody - 1 - static_cast<unsigned>(::getpid()) % 5000;
    if (::setresgid(kNobody, kNobody, kNobody) != 0 || ::setresuid(user, user, user) != 0) ::_exit(2);
    ::prctl(PR_SET_DUMPABLE, 1);  // as in a program that was started by that user
    if (testing::why_no_event(0, -1, false)) ::_exit(3);
    test();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 3)
    GTEST_SKIP() << "needs perf events: perf_event_paranoid does not allow it to ordinary users";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

void burn_cpu(std::uint64_t ns) {
  const std::uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
    volatile int number = 0;
    for (int i = 0; i < 20000; ++i) number = number + i % 2;
  }
}

// A target that follows commands: burns while there are bytes to read.
class Target {
 public:
  template <class Body>
  explicit Target(Body body) {
    int go[2];
    if (::pipe(go) != 0) ::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      char byte;
      if (::read(go[0], &byte, 1) != 1) ::_exit(1);
      body();
      ::_exit(0);
    }
    ::close(go[0]);
    go_ = Fd(go[1]);
  }
  ~Target() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  void go() { EXPECT_EQ(::write(go_.get(), "x", 1), 1); }

 private:
  pid_t pid_ = -1;
  Fd go_;
};

// Until the main thread has had that much of a CPU, however busy the machine is.
void wait_for_cpu_time(int pid, std::uint64_t ns) {
  for (;;) {
    const auto times = process::read_schedstat(pid, pid);
    if (!times || times->ran_ns >= ns) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Drains until the process has ended and been quiet.
std::vector<Event> record_to_the_end(PerfSampler& sampler, int pid) {
  std::vector<Event> events;
  std::vector<pollfd> waiting;
  for (int fd : sampler.fds()) waiting.push_back({fd, POLLIN, 0});
  for (bool ended = false; !ended;) {
    ::poll(waiting.data(), waiting.size(), 20);
    siginfo_t info{};
    ended = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid;
    sampler.drain(events);
  }
  return events;
}

template <class T>
std::vector<T> only(const std::vector<Event>& events) {
  std::vector<T> found;
  for (const Event& event : events) {
    if (const T* is = std::get_if<T>(&event)) found.push_back(*is);
  }
  return found;
}

TEST(PerfSampler, AnOrdinaryUserSeesTheStacksOfAllThreads) {
  as_nobody([] {
    Target target([] {
      std::thread late([] {
        ::prctl(PR_SET_NAME, "late");
        burn_cpu(300'000'000);
      });
      burn_cpu(300'000'000);
      late.join();
    });
    auto sampler = PerfSampler::open(target.pid(), {});
    ASSERT_TRUE(sampler) << sampler.error().message;
    target.go();
    const std::vector<Event> events = record_to_the_end(*sampler, target.pid());

    std::map<int, int> by_thread;
    for (const CopiedStackSample& sample : only<CopiedStackSample>(events)) {
      EXPECT_EQ(sample.pid, target.pid());
      ++by_thread[sample.tid];
      ASSERT_TRUE(sample.has_user);
      EXPECT_GT(sample.stack.size(), 64u);
      EXPECT_LE(sample.stack.size(), 32u * 1024);
      EXPECT_NE(sample.instruction_pointer, 0u);
      if (!sampler->sees_kernel()) {
        EXPECT_TRUE(sample.kernel.empty());
      }
    }
    // 300 ms of CPU time each at 999 Hz; time in the kernel (the clock) may be missing.
    ASSERT_EQ(by_thread.size(), 2u);
    for (const auto& [tid, samples] : by_thread) {
      EXPECT_GT(samples, 200) << tid;
      EXPECT_LT(samples, 330) << tid;
    }
    const auto started = only<ThreadStarted>(events);
    ASSERT_EQ(started.size(), 1u);
    const auto named = only<ThreadNamed>(events);
    ASSERT_EQ(named.size(), 1u);
    EXPECT_EQ(named.front(), (ThreadNamed{named.front().time_ns, target.pid(), started.front().tid, "late"}));
    EXPECT_EQ(only<ThreadEnded>(events).size(), 2u);
    EXPECT_EQ(sampler->lost(), 0u);
  });
}

TEST(PerfSampler, ThreadsThatRunAlreadyAreSampledOnceEach) {
  as_nobody([] {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    static int ready_fd;
    ready_fd = ready[1];
    Target target([] {
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) threads.emplace_back([] { burn_cpu(200'000'000); });
      if (::write(ready_fd, "x", 1) != 1) ::_exit(1);
      for (auto& thread : threads) thread.join();
    });
    target.go();
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    auto sampler = PerfSampler::open(target.pid(), {});
    ASSERT_TRUE(sampler) << sampler.error().message;
    std::map<int, std::uint64_t> ran_before;
    const auto tids = process::read_thread_ids(target.pid());
    ASSERT_TRUE(tids);
    for (const int tid : *tids) ran_before[tid] = process::read_schedstat(target.pid(), tid)->ran_ns;
    std::map<int, int> by_thread;
    for (const auto& sample : only<CopiedStackSample>(record_to_the_end(*sampler, target.pid())))
      ++by_thread[sample.tid];
    ASSERT_EQ(by_thread.size(), 4u);
    for (const auto& [tid, samples] : by_thread) {
      const double left_s = (200e6 - static_cast<double>(ran_before[tid])) * 1e-9;
      EXPECT_LT(samples, left_s * 999 * 1.2 + 10) << "two events of one thread count it twice";
      EXPECT_GT(samples, left_s * 999 * 0.6 - 10);
    }
  });
}

TEST(PerfSampler, LaunchedProgramIsFollowedFromItsExecOn) {
  as_nobody([] {
    Target target([] {
      burn_cpu(50'000'000);  // still us: not interesting
      ::execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; /bin/true; exit 0",
              nullptr);
    });
    PerfSamplerOptions options;
    options.start_on_exec = true;
    options.stack_bytes = 8192;
    auto sampler = PerfSampler::open(target.pid(), options);
    ASSERT_TRUE(sampler) << sampler.error().message;
    target.go();
    const std::vector<Event> events = record_to_the_end(*sampler, target.pid());

    const auto execs = only<ProcessExeced>(events);
    ASSERT_GE(execs.size(), 2u);
    EXPECT_EQ(execs[0].name, "sh");
    EXPECT_EQ(execs[1].name, "true");
    const auto forks = only<ProcessForked>(events);
    ASSERT_EQ(forks.size(), 1u);
    EXPECT_EQ(forks[0].parent_pid, target.pid());
    EXPECT_EQ(execs[1].pid, forks[0].pid);

    // Every sampled address lies in a mapping that was reported before.
    std::vector<process::MapEntry> mapped;
    std::size_t samples = 0;
    for (const Event& event : events) {
      if (const auto* map = std::get_if<MemoryMapped>(&event); map != nullptr && map->pid == target.pid())
        mapped.push_back(map->mapping);
      const auto* sample = std::get_if<CopiedStackSample>(&event);
      if (sample == nullptr || sample->pid != target.pid()) continue;
      ++samples;
      EXPECT_GT(sample->time_ns, execs[0].time_ns);
      if (!sample->kernel.empty()) continue;  // the user side of an exec that is under way
      EXPECT_TRUE(std::any_of(mapped.begin(), mapped.end(),
                              [&](const process::MapEntry& entry) {
                                return entry.start.value <= sample->instruction_pointer &&
                                       sample->instruction_pointer < entry.end.value;
                              }))
          << std::hex << sample->instruction_pointer;
    }
    EXPECT_GT(samples, 20u);
  });
}

TEST(PerfSampler, ACpuThatComesLaterIsSampledAndNoneTwice) {
  as_nobody([] {
    const std::vector<int> cpus = online_cpus();
    if (cpus.size() < 2) return;  // nothing can come
    static int first, later;
    first = cpus[0], later = cpus[1];
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    static int ready_fd;
    ready_fd = ready[1];
    Target target([] {
      const auto burn_on = [](int cpu) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<std::size_t>(cpu), &set);
        if (::sched_setaffinity(0, sizeof(set), &set) != 0) ::_exit(1);
        burn_cpu(150'000'000);
      };
      burn_on(later);
      if (::write(ready_fd, "x", 1) != 1) ::_exit(1);
      ::raise(SIGSTOP);
      burn_on(first);
      burn_on(later);
    });
    PerfSamplerOptions options;
    options.cpus = {first};
    auto sampler = PerfSampler::open(target.pid(), options);
    ASSERT_TRUE(sampler) << sampler.error().message;
    target.go();
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    std::vector<Event> before;
    sampler->drain(before);
    const auto on = [](const std::vector<Event>& events, int cpu) {
      return std::ranges::count(only<CopiedStackSample>(events), cpu, &CopiedStackSample::cpu);
    };
    EXPECT_EQ(on(before, later), 0);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(sampler->add_cpu(later, std::vector{target.pid()}));
    int status = 0;
    ASSERT_EQ(::waitpid(target.pid(), &status, WUNTRACED), target.pid());
    ::kill(target.pid(), SIGCONT);
    const auto events = record_to_the_end(*sampler, target.pid());
    for (const int cpu : {first, later}) {
      EXPECT_GT(on(events, cpu), 40) << "of 150 on CPU " << cpu;
      EXPECT_LT(on(events, cpu), 250) << "of 150 on CPU " << cpu;
    }
  });
}

TEST(PerfSampler, AfterStopNothingIsAdded) {
  as_nobody([] {
    Target target([] { burn_cpu(10'000'000'000); });
    auto sampler = PerfSampler::open(target.pid(), {});
    ASSERT_TRUE(sampler) << sampler.error().message;
    target.go();
    wait_for_cpu_time(target.pid(), 100'000'000);
    sampler->stop();
    std::vector<Event> events;
    sampler->drain(events);
    EXPECT_GT(only<CopiedStackSample>(events).size(), 20u);
    events.clear();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    sampler->drain(events);
    EXPECT_TRUE(events.empty());
  });
}

TEST(PerfSampler, LittleLockedMemoryIsSharedEvenlyByAllCpus) {
  as_nobody([] {
    // What is allowed without any: perf_event_mlock_kb for each CPU, for all rings of the user.
    const rlimit none{0, 0};
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &none), 0);
    Target target([] { burn_cpu(100'000'000); });
    PerfSamplerOptions options;
    options.stack_bytes = 8192;
    auto sampler = PerfSampler::open(target.pid(), options);
    // Other tests of this user may have all of it for a moment.
    for (int i = 0; i < 3000 && !sampler; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      sampler = PerfSampler::open(target.pid(), options);
    }
    ASSERT_TRUE(sampler) << sampler.error().message;
    EXPECT_EQ(sampler->fds().size(), online_cpus().size());
    EXPECT_LT(sampler->ring_memory_bytes(), online_cpus().size() * options.ring_bytes);
    target.go();
    EXPECT_GT(only<CopiedStackSample>(record_to_the_end(*sampler, target.pid())).size(), 50u);
  });
}

TEST(PerfSampler, ReportsWhatIsWrong) {
  PerfSamplerOptions options;
  options.stack_bytes = 65536;
  EXPECT_EQ(PerfSampler::open(::getpid(), options).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(PerfSampler::open(0x3fffff, {}).error().kind, ErrorKind::kNotFound);
  as_nobody([] {
    auto of_root = PerfSampler::open(1, {});
    ASSERT_FALSE(of_root);
    EXPECT_EQ(of_root.error().kind, ErrorKind::kPermission);
    EXPECT_NE(of_root.error().remedy, "");
  });
}

TEST(PerfSampler, PrivilegedUserSeesTheKernelSide) {
  Target target([] {
    const int zero = ::open("/dev/zero", O_RDONLY);
    std::vector<char> buffer(1 << 20);
    for (int i = 0; i < 100000; ++i) {
      if (::read(zero, buffer.data(), buffer.size()) < 0) ::_exit(1);
    }
  });
  FATHOM_NEEDS_EVENT(target.pid(), -1, true);
  auto sampler = PerfSampler::open(target.pid(), {});
  ASSERT_TRUE(sampler) << sampler.error().message;
  ASSERT_TRUE(sampler->sees_kernel());
  target.go();
  wait_for_cpu_time(target.pid(), 150'000'000);
  std::vector<Event> events;
  sampler->stop();
  sampler->drain(events);
  const auto samples = only<CopiedStackSample>(events);
  ASSERT_GT(samples.size(), 20u);
  const auto in_kernel =
      std::count_if(samples.begin(), samples.end(), [](const auto& s) { return !s.kernel.empty(); });
  EXPECT_GT(in_kernel, static_cast<std::ptrdiff_t>(samples.size() / 2));
  for (const CopiedStackSample& sample : samples) {
    EXPECT_TRUE(sample.has_user && !sample.stack.empty());
    for (std::uint64_t address : sample.kernel) EXPECT_GE(address, 0xffff800000000000u);
  }
}

}  // namespace
}  // namespace fathom::sources
