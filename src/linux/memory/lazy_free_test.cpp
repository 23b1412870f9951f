#include "linux/memory/lazy_free.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace fathom::sources {
namespace {

TEST(LazyFree, IsWhatMadviseFreedAndTheKernelHasNotTaken) {
  constexpr std::size_t kBytes = 8 << 20;
  const auto before = read_lazy_free(::getpid());
  ASSERT_TRUE(before.has_value()) << "kernels since 4.12 report it";
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  EXPECT_LT(*read_lazy_free(::getpid()), *before + kBytes / 2) << "it is in use";
  ASSERT_EQ(::madvise(memory, kBytes, MADV_FREE), 0);
  const auto after = read_lazy_free(::getpid());
  ASSERT_TRUE(after.has_value());
  EXPECT_GT(*after, *before + kBytes * 9 / 10);
  // A large process would wait for the reading.
  void* large =
      ::mmap(nullptr, kMostResidentForLazyFree, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(large, MAP_FAILED);
  std::memset(large, 1, kMostResidentForLazyFree);
  EXPECT_FALSE(read_lazy_free(::getpid()));
  ::munmap(large, kMostResidentForLazyFree);
  ::munmap(memory, kBytes);
  EXPECT_FALSE(read_lazy_free(0x7fffffff)) << "there is no such process";
}

}  // namespace
}  // namespace fathom::sources
