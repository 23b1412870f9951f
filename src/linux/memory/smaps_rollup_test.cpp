#include "linux/memory/smaps_rollup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace fathom::sources {
namespace {

constexpr std::size_t kBytes = 8 << 20;

void* map(std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

constexpr std::string_view kText =
    "55d5c1c00000-7ffd4b5f9000 ---p 00000000 00:00 0                          [rollup]\n"
    "Rss:                1700 kB\nPss:                 343 kB\nPss_Dirty:           120 kB\n"
    "Shared_Clean:       1512 kB\nShared_Dirty:          8 kB\nPrivate_Clean:        60 kB\n"
    "Private_Dirty:       120 kB\nReferenced:         1700 kB\nAnonymous:           128 kB\n"
    "LazyFree:              4 kB\n";

TEST(SmapsRollup, IsReadByTheNamesOfItsLines) {
  constexpr std::uint64_t kKb = 1024;
  EXPECT_EQ(parse_smaps_rollup(kText), (SmapsRollup{.private_clean = 60 * kKb,
                                                    .private_dirty = 120 * kKb,
                                                    .shared_clean = 1512 * kKb,
                                                    .shared_dirty = 8 * kKb,
                                                    .proportional = 343 * kKb,
                                                    .lazy_free = 4 * kKb}));
}

TEST(SmapsRollup, IsUnknownWhereALineIsMissing) {
  for (const std::string_view name : {"Private_Clean", "Shared_Dirty", "Pss:", "LazyFree"}) {
    std::string without(kText);
    without.replace(without.find("\n" + std::string(name)) + 1, 1, "x");
    EXPECT_FALSE(parse_smaps_rollup(without)) << name;
  }
  EXPECT_FALSE(parse_smaps_rollup(""));
}

TEST(SmapsRollup, CountsWhatMadviseFreedAndTheKernelHasNotTaken) {
  const auto before = read_smaps_rollup(::getpid());
  ASSERT_TRUE(before.has_value()) << "kernels since 4.14 report it";
  void* memory = map(kBytes);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  EXPECT_LT(read_smaps_rollup(::getpid())->lazy_free, before->lazy_free + kBytes / 2) << "it is in use";
  ASSERT_EQ(::madvise(memory, kBytes, MADV_FREE), 0);
  const auto after = read_smaps_rollup(::getpid());
  ASSERT_TRUE(after.has_value());
  EXPECT_GT(after->lazy_free, before->lazy_free + kBytes * 9 / 10);
  ::munmap(memory, kBytes);
}

TEST(SmapsRollup, APageOfParentAndChildIsSharedAndHalfOfItCounts) {
  void* memory = map(kBytes);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  const auto alone = read_smaps_rollup(::getpid());
  ASSERT_TRUE(alone.has_value());
  EXPECT_GE(alone->private_dirty, kBytes);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto together = read_smaps_rollup(::getpid());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(together.has_value());
  EXPECT_GE(together->shared_dirty, kBytes);
  EXPECT_LE(together->private_dirty + kBytes * 9 / 10, alone->private_dirty);
  EXPECT_LE(together->proportional + kBytes * 4 / 10, alone->proportional);
  ::munmap(memory, kBytes);
}

TEST(SmapsRollup, IsNotReadOfALargeProcessWhichWouldWaitForIt) {
  void* large = map(kMostResidentForRollup);
  ASSERT_NE(large, MAP_FAILED);
  std::memset(large, 1, kMostResidentForRollup);
  EXPECT_FALSE(read_smaps_rollup(::getpid()));
  ::munmap(large, kMostResidentForRollup);
  EXPECT_FALSE(read_smaps_rollup(0x7fffffff)) << "there is no such process";
}

}  // namespace
}  // namespace fathom::sources
