#include "record/bpf/bpf_engine.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/sanitized.h"
#include "linux/perf/event.h"
#include "record/bpf/switches.h"

namespace fathom::sources {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  const auto found = text.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  text.remove_prefix(found + key.size());
  text.remove_prefix(text.find_first_not_of(" \t"));
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Of all programs that this process holds; nullopt if the kernel does not report it (before Linux 5.16).
std::optional<std::uint64_t> instructions_followed_by_the_verifier() {
  std::optional<std::uint64_t> sum;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    const auto text = read_file(entry.path());
    if (!text) continue;
    if (const auto count = number_after(*text, "verified_insns:")) sum = sum.value_or(0) + *count;
  }
  return sum;
}

std::size_t resident_bytes() {
  const std::string text = read_file("/proc/self/statm").value();
  return number_after(text, " ").value() * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

#define FATHOM_NEEDS_BPF() \
  if (::geteuid() != 0) GTEST_SKIP() << "needs BPF: this user is not root"

// A signal makes the verifier give up. These come far more often than a program of ours is verified in.
TEST(BpfEngine, LoadsWhileSignalsCome) {
  FATHOM_NEEDS_BPF();
  struct sigaction nothing {
  }, before{};
  nothing.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &nothing, &before), 0);
  const itimerval often{{0, 1000}, {0, 1000}}, never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  const auto engine = BpfEngine::load({});
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_TRUE(engine) << engine.error().message;
}

// The verifier is most of what a start costs. With one loop over all frames of a stack it followed 143,000
// instructions, and took 100 ms; with the ring that keeps both ends of deep stacks it follows 100,000.
TEST(BpfEngine, TheVerifierFollowsFewInstructions) {
  FATHOM_NEEDS_BPF();
  const auto engine = BpfEngine::load({});
  ASSERT_TRUE(engine) << engine.error().message;
  const auto followed = instructions_followed_by_the_verifier();
  if (!followed) GTEST_SKIP() << "this kernel does not tell what the verifier did";
  EXPECT_LT(*followed, 110'000u);
}

// A recording without probes has nothing of them in the kernel.
TEST(BpfEngine, TheProgramsOfProbesAreVerifiedWhereTheyAreWantedOnly) {
  FATHOM_NEEDS_BPF();
  std::optional<std::uint64_t> without, with;
  {
    const auto engine = BpfEngine::load({});
    ASSERT_TRUE(engine) << engine.error().message;
    without = instructions_followed_by_the_verifier();
  }
  const auto engine = BpfEngine::load({.probes = true});
  ASSERT_TRUE(engine) << engine.error().message;
  with = instructions_followed_by_the_verifier();
  if (!without || !with) GTEST_SKIP() << "this kernel does not tell what the verifier did";
  EXPECT_GT(*with, *without);
  EXPECT_LT(*with, *without + 30'000);
}

TEST(BpfEngine, TakesLittleMemoryOfThisProcessHoweverLargeTheTablesAre) {
#if FATHOM_ADDRESS_SANITIZER
  GTEST_SKIP() << "the sanitizer keeps memory that was freed";
#endif
  FATHOM_NEEDS_BPF();
  {
    const auto warm_up = BpfEngine::load({.cpu = true, .off_cpu = false, .row_capacity = 4096});
    ASSERT_TRUE(warm_up) << warm_up.error().message;
  }
  const std::size_t before = resident_bytes();
  const auto engine = BpfEngine::load({.row_capacity = 16u << 20, .ring_bytes = 1u << 20});
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_LT(resident_bytes(), before + 16 * kMegabyte);
}

TEST(BpfEngine, AccountsOfAllThreadsAreWrittenAndRead) {
  FATHOM_NEEDS_BPF();
  const auto engine = BpfEngine::load({});
  ASSERT_TRUE(engine) << engine.error().message;
  for (std::int32_t tid = 1; tid < static_cast<std::int32_t>(2 * ACCOUNTS); tid += 37) {
    thread_account account{};
    account.pid = 7;
    account.ran_ns = static_cast<std::uint64_t>(tid) * 1000;
    (*engine)->switches()->enter_thread(tid, account);
  }
  for (std::int32_t tid = 1; tid < static_cast<std::int32_t>(2 * ACCOUNTS); tid += 37) {
    const auto account = (*engine)->switches()->account(tid);
    ASSERT_TRUE(account) << tid;
    EXPECT_EQ(account->ran_ns, static_cast<std::uint64_t>(tid) * 1000);
  }
  EXPECT_FALSE((*engine)->switches()->account(2));
}

// Each part comes with its option and has nothing in the kernel without it. A link is an open descriptor of this process.
TEST(BpfEngine, ItsPartsAreThoseThatAreWanted) {
  FATHOM_NEEDS_BPF();
  for (unsigned wanted = 0; wanted < 32; ++wanted) {
    BpfOptions options{.row_capacity = 4096, .ring_bytes = 1u << 16};
    options.cpu = wanted & 1;
    options.off_cpu = wanted & 2;
    options.mappings = wanted & 4;
    options.probes = wanted & 8;
    options.heap_probes = wanted & 16;
    const auto loaded = BpfEngine::load(options);
    ASSERT_TRUE(loaded) << wanted << ": " << loaded.error().message;
    BpfEngine& engine = **loaded;
    EXPECT_EQ(engine.cpu_sampling() != nullptr, options.cpu) << wanted;
    EXPECT_EQ(engine.switches() != nullptr, options.off_cpu) << wanted;
    EXPECT_EQ(engine.memory_calls() != nullptr, options.mappings) << wanted;
    EXPECT_EQ(engine.function_probes() != nullptr, options.probes) << wanted;
    EXPECT_EQ(engine.heap_probes() != nullptr, options.heap_probes) << wanted;
    const std::size_t before = open_descriptors();
    ASSERT_TRUE(engine.start({})) << wanted;
    const std::size_t links = open_descriptors() - before, cpus = online_cpus().size();
    constexpr std::size_t kAlways = 4;  // beginning and end of processes, and the signal that ends one
    EXPECT_GE(links,
              kAlways + (options.cpu ? cpus : 0) + (options.off_cpu ? 6 + 2 * cpus : 0) + options.mappings)
        << wanted;
    if (!options.cpu && !options.off_cpu) {
      EXPECT_EQ(links, kAlways + options.mappings) << wanted;
    }
    engine.stop();
    EXPECT_EQ(open_descriptors(), before) << wanted;
  }
}

// This kernel also takes the programs of older ones: newer ones only have additions.
constexpr BpfOptions kOlder{.programs = BpfPrograms::kBeforeLinux515};

TEST(OlderPrograms, AccountsOfAllThreadsAreWrittenAndRead) {
  FATHOM_NEEDS_BPF();
  const auto engine = BpfEngine::load(kOlder);
  ASSERT_TRUE(engine) << engine.error().message;
  for (std::int32_t tid = 1; tid < 1000; ++tid) {
    thread_account account{};
    account.ran_ns = static_cast<std::uint64_t>(tid) * 1000;
    (*engine)->switches()->enter_thread(tid, account);
  }
  for (std::int32_t tid = 1; tid < 1000; ++tid) {
    const auto account = (*engine)->switches()->account(tid);
    ASSERT_TRUE(account) << tid;
    EXPECT_EQ(account->ran_ns, static_cast<std::uint64_t>(tid) * 1000);
  }
  EXPECT_FALSE((*engine)->switches()->account(1000));
}

std::uint64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Of this thread: three sleeps, and CPU time in the kernel.
class EachWayToWalk : public testing::TestWithParam<BpfPrograms> {};

TEST_P(EachWayToWalk, BooksWaitsExactlyAndSamplesTheCpu) {
  FATHOM_NEEDS_BPF();
  const auto loaded = BpfEngine::load(BpfOptions{.programs = GetParam()});
  ASSERT_TRUE(loaded) << loaded.error().message;
  BpfEngine& engine = **loaded;
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const auto tid = static_cast<std::int32_t>(::gettid());
  ASSERT_TRUE(engine.tables().set_mappings(pid, {}, 0));
  ASSERT_TRUE(engine.start({}));
  thread_account self{};
  self.pid = pid;
  self.in_ns = nanoseconds_of(CLOCK_MONOTONIC);
  engine.switches()->enter_thread(tid, self);

  std::uint64_t slept = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = nanoseconds_of(CLOCK_MONOTONIC);
    ::usleep(20'000);
    slept += nanoseconds_of(CLOCK_MONOTONIC) - before;
  }
  const std::uint64_t until = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) + 200'000'000;
  while (nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) < until) (void)::getppid();
  const auto account = engine.switches()->account(tid);
  engine.stop();
  std::vector<Event> events;
  ASSERT_TRUE(engine.drain(events));

  ASSERT_TRUE(account);
  EXPECT_EQ(account->waits, 3u);
  EXPECT_LE(account->waited_ns, slept);
  EXPECT_GE(account->waited_ns, 60'000'000u);
  std::size_t samples = 0, sleeps = 0, kernel_stacks = 0;
  for (const Event& event : events) {
    if (const auto* sample = std::get_if<StackSample>(&event)) samples += sample->tid == tid;
    if (const auto* wait = std::get_if<Waited>(&event)) sleeps += wait->tid == tid && wait->state == 1;
    if (const auto* stack = std::get_if<StackSeen>(&event)) kernel_stacks += !stack->kernel.empty();
    if (const auto* stack = std::get_if<StackCopied>(&event)) kernel_stacks += !stack->seen.kernel.empty();
  }
  EXPECT_GE(samples, 100u) << "of 200 at 999 Hz";
  EXPECT_EQ(sleeps, 3u);
  EXPECT_GE(kernel_stacks, 2u);
}

// Another CPU may end a wait while the thread that begins it is still on its way to the scheduler. Such a thread waited for nothing but
// a CPU, and neither was preempted nor waited all that time for the other one.
TEST_P(EachWayToWalk, BooksAWaitThatWasOverAtOnceAsTimeInTheRunQueue) {
  FATHOM_NEEDS_BPF();
  const auto loaded = BpfEngine::load(BpfOptions{.programs = GetParam()});
  ASSERT_TRUE(loaded) << loaded.error().message;
  BpfEngine& engine = **loaded;
  const auto pid = static_cast<std::uint32_t>(::getpid());
  ASSERT_TRUE(engine.tables().set_mappings(pid, {}, 0));
  ASSERT_TRUE(engine.start({}));
  std::mutex lock;
  long held = 0;
  const auto take_it_often = [&] {
    thread_account self{};
    self.pid = pid;
    self.in_ns = nanoseconds_of(CLOCK_MONOTONIC);
    engine.switches()->enter_thread(static_cast<std::int32_t>(::gettid()), self);
    for (int i = 0; i < 200'000; ++i) {
      const std::lock_guard guard(lock);
      ++held;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(take_it_often);
  for (std::thread& thread : threads) thread.join();
  engine.stop();
  std::vector<Event> events;
  ASSERT_TRUE(engine.drain(events));
  EXPECT_EQ(held, 1'600'000);
  for (const Event& event : events) {
    const auto* wait = std::get_if<Waited>(&event);
    if (wait != nullptr && wait->state == 0) {
      EXPECT_EQ(wait->waited_ns, 0u) << "in call " << wait->system_call;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, EachWayToWalk,
                         testing::Values(BpfPrograms::kForThisKernel, BpfPrograms::kBeforeLinux615,
                                         BpfPrograms::kBeforeLinux515));

TEST(OlderPrograms, RefuseProbesAndNameTheKernelThatHasThem) {
  FATHOM_NEEDS_BPF();
  BpfOptions options = kOlder;
  options.probes = true;
  const auto refused = BpfEngine::load(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(refused.error().message.find("Linux 5.15"), std::string::npos) << refused.error().message;

  options = kOlder;
  options.heap_probes = true;
  const auto engine = BpfEngine::load(options);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ((*engine)->heap_probes(), nullptr);
}

TEST(BpfOptions, RingsHoldASecondAndGrowWithTheMachineAndTheFrequency) {
  const BpfOptions often{.frequency_hz = 999};
  EXPECT_EQ(often.sample_ring_bytes(2), 2 * kMegabyte);
  EXPECT_EQ(often.wait_ring_bytes(2), 4 * kMegabyte);
  EXPECT_EQ(often.sample_ring_bytes(64), 8 * kMegabyte);
  EXPECT_EQ(often.wait_ring_bytes(64), 8 * kMegabyte);
  const BpfOptions seldom{.frequency_hz = 99};
  EXPECT_EQ(seldom.sample_ring_bytes(2), kMegabyte);
  EXPECT_EQ(seldom.wait_ring_bytes(2), 2 * kMegabyte);
}

TEST(BpfOptions, RingsOfWhatIsNotRecordedAreSmall) {
  EXPECT_EQ((BpfOptions{.off_cpu = false}.wait_ring_bytes(2)), 4096u);
  EXPECT_EQ((BpfOptions{.off_cpu = false, .mappings = true}.wait_ring_bytes(2)), 8 * kMegabyte)
      << "nothing thins out the calls that map memory";
}

}  // namespace
}  // namespace fathom::sources
