#include "linux/process/inner_threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fathom::process {
namespace {

TEST(InnerThreads, InOurNamespaceNumbersAreWhatTheyAre) {
  InnerThreads threads(::getpid());
  threads.refresh();
  EXPECT_EQ(threads.outer(::getpid()), ::getpid());
  EXPECT_EQ(threads.outer(INT32_MAX), std::nullopt);
}

// A process whose threads 1000 + n have the numbers n in its own namespace.
struct FakeProcess {
  std::vector<std::int32_t> tids;
  std::uint64_t files_read = 0;
  InnerThreads::Proc proc() {
    return {[this] { return std::optional(tids); },
            [this](std::int32_t tid) {
              ++files_read;
              return std::optional(tid - 1000);
            }};
  }
};

TEST(InnerThreads, OneFileIsReadForEachNewThread) {
  FakeProcess process;
  for (std::int32_t i = 1; i <= 400; ++i) process.tids.push_back(1000 + i);
  InnerThreads threads(process.proc());
  threads.refresh();
  EXPECT_EQ(process.files_read, 400u);
  for (std::int32_t i = 1; i <= 400; ++i) EXPECT_EQ(threads.outer(i), 1000 + i);
  threads.refresh();
  EXPECT_EQ(process.files_read, 400u);
  process.tids.push_back(1401);
  threads.refresh();
  EXPECT_EQ(process.files_read, 401u);
  EXPECT_EQ(threads.outer(401), 1401);
}

TEST(InnerThreads, ThreadsThatEndedAreForgottenAndTheirNumbersMayBeUsedAgain) {
  FakeProcess process;
  process.tids = {1001, 1002};
  InnerThreads threads(process.proc());
  threads.refresh();
  process.tids = {1001};
  threads.refresh();
  EXPECT_EQ(threads.outer(2), std::nullopt);
  process.tids = {1001, 1002};
  threads.refresh();
  EXPECT_EQ(threads.outer(2), 1002);
  EXPECT_EQ(process.files_read, 3u);
}

TEST(InnerThreads, OfAProcessInANamespaceOfItsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make a pid namespace";
  constexpr int kNoNamespace = 3;
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::close(go[1]);
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(kNoNamespace);
    const pid_t first = ::fork();  // pid 1 in there
    if (first == 0) {
      char byte;
      (void)!::read(go[0], &byte, 1);
      ::_exit(0);
    }
    ::waitpid(first, nullptr, 0);
    ::_exit(0);
  }
  std::int32_t child = 0;
  for (int i = 0; i < 200 && child == 0; ++i) {
    ::usleep(10'000);
    FILE* children = std::fopen(
        ("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children").c_str(), "r");
    if (children == nullptr) break;
    if (std::fscanf(children, "%d", &child) != 1) child = 0;
    std::fclose(children);
  }
  int status = 0;
  if (child != 0) {
    InnerThreads threads(child);
    threads.refresh();
    EXPECT_EQ(threads.outer(1), child);
    EXPECT_EQ(threads.outer(child), std::nullopt);
  }
  ::close(go[1]);
  ::close(go[0]);
  ::waitpid(parent, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNamespace)
    GTEST_SKIP() << "no pid namespace can be made here";
  EXPECT_NE(child, 0);
}

}  // namespace
}  // namespace fathom::process
