// Watches functions that a child calls all the time, and compares the child's own records with the hits.
#include "attach/inject/live/breakpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "attach/inject/live/testing_breakpoints.h"

namespace fathom::inject {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Shared memory of parent and child: where the child's functions are.
struct Board {
  std::atomic<int> calling;  // threads
  std::atomic<std::uint64_t> rounds;
};

extern "C" {
__attribute__((noipa)) std::uint64_t live_gives(std::uint64_t size, std::uint64_t other) {
  return size * 3 + other;
}
__attribute__((noipa)) void live_frees(std::uint64_t block, std::uint64_t size) {
  asm volatile("" : : "r"(block), "r"(size));
}
__attribute__((noipa)) void live_resizes(std::uint64_t block) {
  asm volatile("" : : "r"(block));
}
__attribute__((noipa)) void live_is_never_called() {
  asm volatile("");
}
}

std::uint64_t address_of(const void* function) {
  return reinterpret_cast<std::uint64_t>(function);
}
std::vector<WatchedPoint> all_points() {
  return {{{address_of(reinterpret_cast<void*>(&live_gives))}, Point::kGives},
          {{address_of(reinterpret_cast<void*>(&live_is_never_called))}, Point::kGave},
          {{address_of(reinterpret_cast<void*>(&live_frees))}, Point::kFrees},
          {{address_of(reinterpret_cast<void*>(&live_resizes))}, Point::kResizes}};
}

void call_all(Board& board) {
  ++board.calling;
  for (std::uint64_t i = board.rounds.fetch_add(1);; i = board.rounds.fetch_add(1)) {
    live_frees(live_gives(i, 1), i);
    live_resizes(i);
  }
}

class Breakpoints : public ::testing::Test {
 protected:
  void SetUp() override { FATHOM_NEEDS_BREAKPOINTS(); }
  void TearDown() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::munmap(board_, sizeof(Board));
  }
  // Makes that many threads call without end; 0: the child waits.
  void start(int threads) {
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ != 0) {
      while (threads > 0 && board_->calling < threads) ::usleep(1000);
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < threads; ++i) std::thread([this] { call_all(*board_); }).detach();
    if (threads > 0) call_all(*board_);
    for (;;) ::pause();
  }
  std::size_t registers() const {
    return inject::testing::free_registers(child_, all_points()[0].address.value);
  }
  bool goes_on() const {
    const std::uint64_t before = board_->rounds;
    for (int i = 0; i < 5000 && board_->rounds == before; ++i) ::usleep(1000);
    return board_->rounds > before && ::waitpid(child_, nullptr, WNOHANG) == 0;
  }

  Board* board_ = static_cast<Board*>(
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pid_t child_ = -1;
};

TEST_F(Breakpoints, SeeCallsWithTheirArgumentsInOrder) {
  start(1);
  const auto watch = watch_points(child_, all_points(), {300, milliseconds(20'000)});
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_GE(watch->hits.size(), 150u);
  EXPECT_EQ(watch->threads, 1u);
  EXPECT_TRUE(watch->all_threads);
  EXPECT_EQ(watch->lost, 0u);
  EXPECT_GE(watch->met, watch->hits.size());
  std::uint64_t round = 0;
  for (std::size_t i = 0; i < watch->hits.size(); ++i) {
    const Hit& hit = watch->hits[i];
    EXPECT_EQ(hit.thread, child_);
    EXPECT_NE(hit.stack, 0u);
    EXPECT_NE(hit.return_to, 0u);
    EXPECT_NE(hit.point, Point::kGave);
    if (i > 0) {
      const Point expected[] = {Point::kFrees, Point::kFrees, Point::kResizes, Point::kGives};
      EXPECT_EQ(hit.point, expected[static_cast<std::size_t>(watch->hits[i - 1].point)]) << i;
    }
    if (hit.point == Point::kGives) {
      EXPECT_EQ(hit.second, 1u);
      if (round != 0) {
        EXPECT_EQ(hit.first, round + 1);
      }
      round = hit.first;
    }
    if (hit.point == Point::kFrees && round != 0) {
      EXPECT_EQ(hit.first, round * 3 + 1);
      EXPECT_EQ(hit.second, round);
    }
    if (hit.point == Point::kResizes && round != 0) {
      EXPECT_EQ(hit.first, round);
    }
  }
  EXPECT_TRUE(goes_on());
  EXPECT_EQ(registers(), kBreakpointRegisters);
}

// The kernel disables it, even if nothing reads the hits.
TEST_F(Breakpoints, EachEndsAfterHalfOfAllHits) {
  start(1);
  const std::uint64_t before = board_->rounds;
  const auto watch = watch_points(child_, std::vector{all_points()[0]}, {400, milliseconds(500)});
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_EQ(watch->met, 200u);
  EXPECT_GT(board_->rounds, before + 200);
}

TEST_F(Breakpoints, SeeEachThreadAndReportIfTheySawAll) {
  start(3);
  const auto watch = watch_points(child_, all_points(), {900, milliseconds(20'000)});
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_EQ(watch->threads, 3u);
  EXPECT_TRUE(watch->all_threads);
  EXPECT_TRUE(std::ranges::is_sorted(watch->hits, {}, &Hit::time_ns));
}

TEST_F(Breakpoints, SeeNothingInAQuietProcess) {
  start(0);
  const auto watch = watch_points(child_, all_points(), {300, milliseconds(30)});
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_TRUE(watch->hits.empty());
  EXPECT_EQ(watch->met, 0u);
  EXPECT_EQ(registers(), kBreakpointRegisters);
}

TEST_F(Breakpoints, UsedByAnotherProgramAreNotTaken) {
  start(1);
  const Fd other = inject::testing::take_register(child_, all_points()[0].address.value);
  ASSERT_TRUE(other);
  const auto watch = watch_points(child_, all_points(), {300, milliseconds(20'000)});
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(watch.error().message, HasSubstr("in use"));
  EXPECT_EQ(registers(), kBreakpointRegisters - 1);
  EXPECT_TRUE(goes_on());
}

TEST_F(Breakpoints, AreGoneWithAKilledProfiler) {
  start(1);
  const pid_t profiler = ::fork();
  if (profiler == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The test uses breakpoint registers, too, to count the free ones.
    for (;;) (void)watch_points(child_, all_points(), {1 << 30, milliseconds(600'000)});
  }
  for (int i = 0; i < 10'000 && registers() == kBreakpointRegisters; ++i) ::usleep(1000);
  EXPECT_EQ(registers(), 0u);
  ASSERT_EQ(::kill(profiler, SIGKILL), 0);
  ASSERT_EQ(::waitpid(profiler, nullptr, 0), profiler);
  EXPECT_EQ(registers(), kBreakpointRegisters);
  EXPECT_TRUE(goes_on());
}

TEST_F(Breakpoints, EndWithTheProcess) {
  start(0);
  std::thread killer([this] {
    ::usleep(20'000);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  });
  const auto watch = watch_points(child_, all_points(), {300, milliseconds(600'000)});
  killer.join();
  child_ = -1;
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_TRUE(watch->hits.empty());
}

TEST_F(Breakpoints, NeedAnExistingProcess) {
  start(0);
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  EXPECT_FALSE(watch_points(std::exchange(child_, -1), all_points(), {300, milliseconds(100)}));
}

}  // namespace
}  // namespace fathom::inject
