#include "linux/process/resource_counts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/fd.h"

namespace fathom::process {
namespace {

// A child that ends at once and is not waited for until the end of the test.
class Zombie {
 public:
  Zombie() {
    pid_ = ::fork();
    if (pid_ == 0) ::_exit(0);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  Zombie(const Zombie&) = delete;
  Zombie& operator=(const Zombie&) = delete;
  ~Zombie() { ::waitpid(pid_, nullptr, 0); }

 private:
  pid_t pid_ = -1;
};

TEST(ResourceCounts, OfDescriptorsFollowsThoseThatAreOpened) {
  const auto before = count_descriptors(::getpid());
  ASSERT_TRUE(before);
  std::vector<Fd> opened;
  for (int i = 0; i < 12; ++i) opened.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(count_descriptors(::getpid()), *before + 12);
  const auto kinds = kinds_of_newest_descriptors(::getpid(), 8);
  EXPECT_EQ(kinds.count("/dev/null"), 1U);
  EXPECT_GE(kinds.at("/dev/null"), 4U) << "listing them takes descriptors, too";
}

TEST(ResourceCounts, OfThreadsFollowsThoseThatAreStarted) {
  const auto before = count_threads(::getpid());
  ASSERT_TRUE(before);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const auto wait = [&] {
    char byte = 0;
    [[maybe_unused]] const ssize_t size = ::read(reading.get(), &byte, 1);
  };
  std::thread one(wait), two(wait);
  EXPECT_EQ(count_threads(::getpid()), *before + 2);
  writing = Fd();
  one.join();
  two.join();
}

TEST(ResourceCounts, OfChildrenKnowsWhichOfThemHaveEnded) {
  const auto before = count_children(::getpid());
  if (!before) GTEST_SKIP() << "this kernel does not list children";
  const Zombie one, two;
  const pid_t alive = ::fork();
  if (alive == 0)
    for (;;) ::pause();
  EXPECT_EQ(count_children(::getpid()), (ChildCounts{before->all + 3, before->zombies + 2}));
  ::kill(alive, SIGKILL);
  ::waitpid(alive, nullptr, 0);
}

TEST(ResourceCounts, AreUnknownOfAProcessThatIsNotThere) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  EXPECT_FALSE(count_descriptors(gone));
  EXPECT_FALSE(count_threads(gone));
  EXPECT_FALSE(count_children(gone));
  EXPECT_TRUE(kinds_of_newest_descriptors(gone, 8).empty());
}

TEST(ResourceCounts, NameTheKindOfADescriptor) {
  EXPECT_EQ(descriptor_kind("socket:[48113]"), "socket");
  EXPECT_EQ(descriptor_kind("pipe:[12]"), "pipe");
  EXPECT_EQ(descriptor_kind("anon_inode:[eventpoll]"), "eventpoll");
  EXPECT_EQ(descriptor_kind("anon_inode:inotify"), "inotify");
  EXPECT_EQ(descriptor_kind("/var/log/a b.log"), "/var/log/a b.log");
  EXPECT_EQ(descriptor_kind("/memfd:x (deleted)"), "/memfd:x");
}

}  // namespace
}  // namespace fathom::process
