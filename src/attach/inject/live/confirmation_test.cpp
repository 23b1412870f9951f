// A running program with jemalloc, with correct and with wrong labels.
#include "attach/inject/live/confirmation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "attach/inject/live/testing_breakpoints.h"
#include "binary/elf/module_file.h"

extern char** environ;

namespace fathom::inject {
namespace {

using allocators::nameless::Role;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

#ifdef USES_JEMALLOC
constexpr WatchLimits kLong{4000, milliseconds(60'000)};

class LiveJemalloc : public ::testing::Test {
 protected:
  void SetUp() override {
    FATHOM_NEEDS_BREAKPOINTS();
    char seconds[] = "600";
    std::string path = program_;
    char* arguments[] = {path.data(), seconds, nullptr};
    ASSERT_EQ(::posix_spawn(&pid_, path.c_str(), nullptr, nullptr, arguments, environ), 0);
    ::usleep(200'000);
    const auto maps = process::read_maps(pid_);
    ASSERT_TRUE(maps);
    bias_ = maps->front().start.value;
  }
  void TearDown() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  // The assumed roles of the functions with these names.
  std::vector<BelievedEntry> entries(const std::map<std::string, Role>& roles) {
    std::vector<BelievedEntry> found;
    for (const elf::Symbol& symbol : twin_->elf().symbols(elf::SymbolTable::kSymtab))
      if (const auto role = roles.find(std::string(symbol.name)); role != roles.end() && symbol.section != 0)
        found.push_back({role->second, symbol.address, symbol.size, 1});
    EXPECT_EQ(found.size(), roles.size());
    return found;
  }
  Verdict verdict(const std::map<std::string, Role>& roles, const WatchLimits& limits = kLong) {
    const auto all = entries(roles);
    const auto choice = choose_to_watch(twin_->elf(), all);
    EXPECT_TRUE(choice) << choice.error().message;
    if (!choice) return {};
    const auto plan = plan_watch(twin_->elf(), all, *choice);
    EXPECT_TRUE(plan) << plan.error().message;
    if (!plan) return {};
    const auto confirmation = confirm(pid_, bias_, all, *plan, limits);
    EXPECT_TRUE(confirmation) << confirmation.error().message;
    if (!confirmation) return {};
    said_ = describe(*confirmation);
    return confirmation->verdict;
  }

  const std::string program_ = USES_JEMALLOC "pie_stripped";
  const Result<elf::ModuleFile> twin_ = elf::ModuleFile::open(USES_JEMALLOC "pie");
  pid_t pid_ = -1;
  std::uint64_t bias_ = 0;
  std::string said_;
};

TEST_F(LiveJemalloc, WithCorrectLabelsIsConfirmed) {
  // On a busy machine the reader gets no CPU in time, and hits are lost.
  Verdict found;
  for (int attempt = 0; attempt < 10; ++attempt) {
    found = verdict({{"malloc", Role::kMalloc}, {"free", Role::kFree}, {"realloc", Role::kRealloc}});
    EXPECT_EQ(found.kind, Verdict::Kind::kConfirmed) << said_;
    if (found.lost == 0) break;
  }
  EXPECT_EQ(found.lost, 0u);
  EXPECT_THAT(said_, HasSubstr("seen at work in the process (malloc, free and realloc; "));
  EXPECT_THAT(said_, HasSubstr("nothing speaks against it"));
}

TEST_F(LiveJemalloc, WithSwappedLabelsIsContradicted) {
  const Verdict found =
      verdict({{"malloc", Role::kFree}, {"free", Role::kMalloc}, {"realloc", Role::kRealloc}});
  EXPECT_EQ(found.kind, Verdict::Kind::kContradicted) << said_;
  EXPECT_THAT(said_, HasSubstr("blocks freed lie where no heap is"));
}

TEST_F(LiveJemalloc, WithReallocLabelledAsFreeIsNotConfirmed) {
  const Verdict found =
      verdict({{"malloc", Role::kMalloc}, {"free", Role::kRealloc}, {"realloc", Role::kSdallocx}});
  EXPECT_EQ(found.kind, Verdict::Kind::kContradicted) << said_;
  EXPECT_THAT(said_, HasSubstr("blocks were freed with another size"));
}

TEST_F(LiveJemalloc, IsNotChanged) {
  (void)verdict({{"malloc", Role::kMalloc}, {"free", Role::kFree}}, {200, milliseconds(5'000)});
  EXPECT_EQ(inject::testing::free_registers(pid_, bias_ + 0x1000), kBreakpointRegisters);
  EXPECT_EQ(::waitpid(pid_, nullptr, WNOHANG), 0);
}
#else
TEST(LiveJemalloc, WithCorrectLabelsIsConfirmed) {
  GTEST_SKIP() << "needs libjemalloc_pic.a of libjemalloc-dev, which is not installed";
}
#endif

}  // namespace
}  // namespace fathom::inject
