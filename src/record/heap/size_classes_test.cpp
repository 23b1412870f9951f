#include "record/heap/size_classes.h"
#include "base/sanitized.h"
#include "base/shell_word.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace fathom::sources::heap {
namespace {

// Every size up to 4 KiB, and around each step of a sixteenth up to `most`.
std::vector<std::uint64_t> sizes_up_to(std::uint64_t most) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size <= 4096; ++size) sizes.push_back(size);
  for (std::uint64_t power = 4096; power < most; power *= 2)
    for (std::uint64_t i = 0; i < 16; ++i)
      for (const std::uint64_t off : {0, 1, 2, 17})
        if (const std::uint64_t size = power + power / 16 * i + off; size <= most) sizes.push_back(size);
  return sizes;
}

// An allocator that the distribution has; the process goes on with its own.
class Library {
 public:
  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (handle_ == nullptr) handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  explicit operator bool() const { return handle_ != nullptr; }
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;  // never closed: allocators cannot be unloaded
};

// What the library itself says of blocks that it has just handed out.
void expect_usable(const Library& library, const char* usable_name, SizeRule rule, std::uint64_t most) {
  auto* allocate = library.function<void*(std::size_t)>("malloc");
  auto* release = library.function<void(void*)>("free");
  auto* usable = library.function<std::size_t(void*)>(usable_name);
  ASSERT_TRUE(allocate && release && usable);
  for (const std::uint64_t size : sizes_up_to(most)) {
    void* block = allocate(size);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(usable_size(rule, size), usable(block)) << size;
    release(block);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SizeClasses, OfGlibcAreWhatItSaysOfItsBlocks) {
#if FATHOM_ADDRESS_SANITIZER || FATHOM_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  // From a place that no smaller block was cut from, so that no rest of it is added to the block.
  for (const std::uint64_t size : sizes_up_to(100'000)) {
    void* block = std::malloc(size);
    const std::uint64_t usable = ::malloc_usable_size(block);
    std::free(block);
    const std::uint64_t rule = usable_size(SizeRule::kGlibc, size);
    EXPECT_GE(usable, rule) << size;
    EXPECT_LE(usable, rule + 16) << size;  // a rest that is too small for a chunk stays with the block
    if (HasFailure()) return;
  }
  EXPECT_EQ(usable_size(SizeRule::kGlibc, 0), 24u);
  EXPECT_EQ(usable_size(SizeRule::kGlibc, 24), 24u);
  EXPECT_EQ(usable_size(SizeRule::kGlibc, 25), 40u);
}

// It has too much thread-local memory to be loaded later, so it comes first in a process of its own, which
// prints a size and what it makes of it per line.
TEST(SizeClasses, OfJemallocAreWhatItSaysItself) {
  using Nallocx = std::size_t(std::size_t, int);
  if (auto* nallocx = reinterpret_cast<Nallocx*>(::dlsym(RTLD_DEFAULT, "nallocx"))) {
    for (const std::uint64_t size : sizes_up_to(std::uint64_t{1} << 40))
      std::printf("= %llu %zu\n", static_cast<unsigned long long>(size), nallocx(size, 0));
    return;
  }
#if FATHOM_ADDRESS_SANITIZER || FATHOM_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  constexpr const char* kLibrary = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
  if (::access(kLibrary, R_OK) != 0) GTEST_SKIP() << "needs libjemalloc";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = std::string("LD_PRELOAD=") + kLibrary + " " + shell_word(self) +
                              " --gtest_filter=SizeClasses.OfJemallocAreWhatItSaysItself 2>/dev/null";
  std::FILE* output = ::popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::size_t compared = 0;
  for (char line[128]; std::fgets(line, sizeof(line), output) != nullptr;) {
    unsigned long long size = 0, usable = 0;
    if (std::sscanf(line, "= %llu %llu", &size, &usable) != 2) continue;
    EXPECT_EQ(usable_size(SizeRule::kJemalloc, size), usable) << size;
    ++compared;
    if (HasFailure()) break;
  }
  ::pclose(output);
  if (HasFailure()) return;
  EXPECT_EQ(compared, sizes_up_to(std::uint64_t{1} << 40).size());
}

TEST(SizeClasses, OfMimallocAreWhatItSaysOfItsBlocks) {
  const Library library{"libmimalloc.so.2", "libmimalloc.so.2.0"};
  if (!library) GTEST_SKIP() << "needs libmimalloc";
  expect_usable(library, "mi_usable_size", SizeRule::kMimalloc, 128 * 1024);
}

TEST(SizeClasses, OfTcmallocAreWhatItSaysOfItsBlocks) {
  const Library library{"libtcmalloc_minimal.so.4"};
  if (!library) GTEST_SKIP() << "needs libtcmalloc_minimal";
  expect_usable(library, "tc_malloc_size", SizeRule::kTcmalloc, 4 << 20);
}

TEST(SizeClasses, AreKnownByTheNameOfTheAllocator) {
  EXPECT_EQ(size_rule("glibc 2.36"), SizeRule::kGlibc);
  EXPECT_EQ(size_rule("jemalloc 5.3.0 (_rjem_)"), SizeRule::kJemalloc);
  EXPECT_EQ(size_rule("jemalloc 3.6.0"), SizeRule::kUnknown);
  EXPECT_EQ(size_rule("mimalloc 2.0.9"), SizeRule::kMimalloc);
  EXPECT_EQ(size_rule("tcmalloc 2.10"), SizeRule::kTcmalloc);
  EXPECT_EQ(size_rule("tcmalloc"), SizeRule::kUnknown);
  EXPECT_EQ(size_rule("musl"), SizeRule::kUnknown);
}

TEST(SizeClasses, TwoSizesOfOneClassAreTheSameToTheAllocator) {
  EXPECT_TRUE(is_same_class(SizeRule::kJemalloc, 100, 112));
  EXPECT_FALSE(is_same_class(SizeRule::kJemalloc, 100, 113));
  EXPECT_FALSE(is_same_class(SizeRule::kUnknown, 100, 101));
  EXPECT_TRUE(is_same_class(SizeRule::kUnknown, 100, 100));
  EXPECT_EQ(usable_size(SizeRule::kUnknown, 100), 0u);
  // Whatever the target claims, nothing overflows.
  for (const SizeRule rule :
       {SizeRule::kGlibc, SizeRule::kJemalloc, SizeRule::kMimalloc, SizeRule::kTcmalloc}) {
    EXPECT_FALSE(is_same_class(rule, 100, UINT64_MAX));
    EXPECT_GE(usable_size(rule, UINT64_MAX), std::uint64_t{1} << 47);
  }
}

}  // namespace
}  // namespace fathom::sources::heap
