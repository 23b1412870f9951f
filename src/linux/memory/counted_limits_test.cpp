#include "linux/memory/counted_limits.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include "base/fd.h"

namespace fathom::sources {
namespace {

using Kind = model::CountedLimit::Kind;

// A child that has done `work` and waits.
class Child {
 public:
  explicit Child(const std::function<bool()>& work) {
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      const char done = work() ? 'y' : 'n';
      [[maybe_unused]] const ssize_t size = ::write(ready[1], &done, 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char done = 0;
    ok_ = ::read(ready[0], &done, 1) == 1 && done == 'y';
    ::close(ready[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool ok() const { return ok_; }
  std::optional<model::CountedLimit> limit(Kind kind) const {
    for (const model::CountedLimit& each : read_counted_limits(pid_))
      if (each.kind == kind) return each;
    return std::nullopt;
  }

 private:
  pid_t pid_ = -1;
  bool ok_ = false;
};

bool set_limit(int which, rlim_t soft) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(which), &limit) != 0) return false;
  limit.rlim_cur = soft;
  return ::setrlimit(static_cast<__rlimit_resource_t>(which), &limit) == 0;
}

TEST(CountedLimitsOfAProcess, MappingsAreCountedAsTheKernelCountsThem) {
  constexpr std::uint64_t kPages = 2000;
  const Child before([] { return true; });
  const Child after([] {
    void* at = ::mmap(nullptr, 2 * kPages * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    for (std::uint64_t i = 0; i < kPages; ++i)  // every second page has other rights, so each is a mapping
      if (::mprotect(static_cast<char*>(at) + 2 * i * 4096, 4096, PROT_READ) != 0) return false;
    return true;
  });
  ASSERT_TRUE(before.ok() && after.ok());
  const auto few = before.limit(Kind::kMappings), many = after.limit(Kind::kMappings);
  ASSERT_TRUE(few && many);
  EXPECT_NEAR(static_cast<double>(many->used - few->used), 2.0 * kPages, 4);
  EXPECT_GT(many->limit, 1000u);
}

TEST(CountedLimitsOfAProcess, DescriptorsAreThoseItHasOfItsSoftLimit) {
  const Child child([] {
    if (!set_limit(RLIMIT_NOFILE, 256)) return false;
    ::close_range(3, ~0U, 0);
    for (int i = 3; i < 248; ++i)
      if (::dup(0) < 0) return false;
    return true;
  });
  // The end of the pipe was closed with the rest, so the child cannot answer.
  std::optional<model::CountedLimit> found;
  for (int i = 0; i < 1000 && (!found || found->used < 248); ++i) {
    ::usleep(1000);
    found = child.limit(Kind::kDescriptors);
  }
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, (model::CountedLimit{Kind::kDescriptors, 248, 256}));
}

TEST(CountedLimitsOfAProcess, WithoutALimitThereIsNone) {
  const Child child([] { return set_limit(RLIMIT_AS, 1ULL << 40); }), free([] { return true; });
  ASSERT_TRUE(child.ok() && free.ok());
  const auto space = child.limit(Kind::kAddressSpace);
  ASSERT_TRUE(space.has_value());
  EXPECT_EQ(space->limit, 1ULL << 40);
  EXPECT_GT(space->used, 100'000u);
  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &own), 0);
  if (own.rlim_cur == RLIM_INFINITY) {
    EXPECT_FALSE(free.limit(Kind::kAddressSpace));
  }
  EXPECT_TRUE(read_counted_limits(0x7fffffff).empty() ||
              read_counted_limits(0x7fffffff).front().kind == Kind::kCommitted);
}

TEST(CountedLimitsOfAProcess, ASoftLimitIsTheFirstOfTheTwo) {
  constexpr std::string_view kText =
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max locked memory         8388608              unlimited            bytes     \n"
      "Max open files            1024                 1048576              files     \n"
      "Max address space         unlimited            unlimited            bytes     \n";
  EXPECT_EQ(soft_limit(kText, "Max open files "), 1024u);
  EXPECT_EQ(soft_limit(kText, "Max locked memory "), 8388608u);
  EXPECT_EQ(soft_limit(kText, "Max address space "), 0u);
  EXPECT_EQ(soft_limit(kText, "Max colours "), 0u);
}

}  // namespace
}  // namespace fathom::sources
