#include "tools/stacks/live/live_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "linux/process/threads.h"

namespace fathom::stacks {
namespace {

using testing::SizeIs;

// A child process that does `work` in its threads, and is killed at the end.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    pid_ = ::fork();
    if (pid_ == 0) {
      work();
      for (;;) ::pause();
    }
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  int pid() const { return pid_; }

  // Until there are so many threads, and none of them has run for longer than they sleep.
  void settle(std::size_t threads) const {
    std::map<int, std::uint64_t> before;
    for (int tries = 0; tries < 100; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      std::map<int, std::uint64_t> now = slices();
      if (now.size() == threads && now == before) return;
      before = std::move(now);
    }
    FAIL() << "the child does not come to rest";
  }
  std::map<int, std::uint64_t> slices() const {
    std::map<int, std::uint64_t> slices;
    const auto tids = process::read_thread_ids(pid_);
    for (const int tid : tids.value()) slices[tid] = process::read_schedstat(pid_, tid)->slices;
    return slices;
  }

 private:
  int pid_ = -1;
};

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

void cross() {
  const auto take = [](pthread_mutex_t* own, pthread_mutex_t* other) {
    std::thread([own, other] {
      pthread_mutex_lock(own);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      pthread_mutex_lock(other);
    }).detach();
  };
  take(&first, &second);
  take(&second, &first);
}

TEST(LiveThreads, FindsTheCircleAndLeavesTheThreadsAlone) {
  const Child child(cross);
  child.settle(3);
  const auto before = child.slices();
  LiveThreads threads((symbolize::Options()));
  ASSERT_TRUE(threads.add(child.pid()));
  const auto look = threads.look();
  ASSERT_TRUE(look) << look.error().message;
  EXPECT_EQ(child.slices(), before) << "no thread has run: none was stopped or woken";
  EXPECT_THAT(look->threads, SizeIs(3));
  ASSERT_FALSE(look->verdicts.empty());
  EXPECT_EQ(look->verdicts[0].finding, Finding::kDeadlock);
  EXPECT_THAT(look->verdicts[0].threads, SizeIs(2));
  for (const std::size_t row : look->verdicts[0].threads) {
    EXPECT_EQ(look->threads[row].holder.evidence, Evidence::kOwnerField);
    EXPECT_NE(look->threads[row].stack.value, 0u);
  }
}

TEST(LiveThreads, ALaterLookSeesWhatMovedSince) {
  const Child child([] {
    std::thread([] {
      for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }).detach();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  LiveThreads threads((symbolize::Options()));
  ASSERT_TRUE(threads.add(child.pid()));
  const auto one = threads.look();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto other = threads.look();
  ASSERT_TRUE(one && other);
  ASSERT_THAT(other->threads, SizeIs(2));
  EXPECT_EQ(one->threads[0].slices, other->threads[0].slices);
  EXPECT_LT(one->threads[1].slices, other->threads[1].slices);
  EXPECT_EQ(one->threads[1].stack, other->threads[1].stack) << "at the same place";
}

TEST(LiveThreads, AProcessThatIsNotThere) {
  const Child child([] {});
  LiveThreads threads((symbolize::Options()));
  ASSERT_TRUE(threads.add(child.pid()));
  ::kill(child.pid(), SIGKILL);
  ::waitpid(child.pid(), nullptr, 0);
  const auto look = threads.look();
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(threads.add(child.pid()).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::stacks
