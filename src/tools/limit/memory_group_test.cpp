// The files of a control group, on a folder of the test's own: what is written, read back and refused. Real groups are in
// limited_run_test.cpp.
#include "tools/limit/memory_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace fathom::limit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class Group : public testing::Test {
 protected:
  Group() { std::filesystem::create_directories(folder_); }
  ~Group() override { std::filesystem::remove_all(folder_); }
  void file(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << content;
  }
  std::string content(const std::string& name) const { return read_file(folder_ + "/" + name).value(); }
  // A plain file keeps what it held beyond what is written, as no control file does.
  void empty_files(const std::vector<std::string>& names) const {
    for (const std::string& name : names) file(name, "");
  }

  std::string folder_ = testing::TempDir() + "fathom-group-" + std::to_string(::getpid());
  MemoryGroup version_1_{1, folder_}, version_2_{2, folder_};
};

// A child of ours, until it is killed.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    if (!reaped_) ::waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  bool was_killed() {  // waits for it
    int status = 0;
    reaped_ = ::waitpid(pid_, &status, 0) == pid_;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  bool is_there() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

TEST_F(Group, OnlyProcessesThatAreStillInItAreEnded) {
  Sleeper inside;
  const Sleeper stranger;  // has the number that one of the group had when its list was read
  const std::vector<int> read_before{inside.pid(), stranger.pid()};
  end_if_inside(read_before, [&] { return std::vector<int>{inside.pid()}; });
  EXPECT_TRUE(inside.was_killed());
  EXPECT_TRUE(stranger.is_there());
}

TEST_F(Group, EndsTheProcessesOfItsFile) {
  Sleeper inside;
  file("cgroup.procs", std::to_string(inside.pid()) + "\n");
  version_2_.end_processes();
  EXPECT_TRUE(inside.was_killed());
}

TEST_F(Group, Version1LimitsMemoryAndTheSum) {
  empty_files({"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness"});
  const auto applied =
      version_1_.apply({.memory_bytes = 209715200, .swap_bytes = 1048576, .swappiness = 10}, true);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(content("memory.limit_in_bytes"), "209715200");
  EXPECT_EQ(content("memory.memsw.limit_in_bytes"), "210763776");
  EXPECT_EQ(content("memory.swappiness"), "10");
}

TEST_F(Group, Version2LimitsMemoryAndSwap) {
  empty_files({"memory.max", "memory.swap.max"});
  const auto applied = version_2_.apply({.memory_bytes = 209715200, .swap_bytes = 0, .swappiness = {}}, true);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(content("memory.max"), "209715200");
  EXPECT_EQ(content("memory.swap.max"), "0");
}

TEST_F(Group, LimitThatTheKernelDoesNotConfirmIsRefused) {
  file("memory.max", "99999999999999");  // longer than what is written: the rest stays
  empty_files({"memory.swap.max"});
  const auto applied = version_2_.apply({.memory_bytes = 4096, .swap_bytes = 0, .swappiness = {}}, false);
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error().message, HasSubstr("the limit would not hold"));
}

TEST_F(Group, SwapThatCannotBeLimitedIsRefusedWhereThereIsSome) {
  empty_files({"memory.limit_in_bytes", "memory.max"});
  const Limits limits{.memory_bytes = 1 << 20, .swap_bytes = 0, .swappiness = {}};
  EXPECT_TRUE(version_1_.apply(limits, false));
  EXPECT_TRUE(version_2_.apply(limits, false));
  EXPECT_THAT(version_1_.apply(limits, true).error().message, HasSubstr("the limit would be evaded"));
  EXPECT_THAT(version_2_.apply(limits, true).error().message, HasSubstr("the limit would be evaded"));
}

TEST_F(Group, Version2HasNoSwappiness) {
  empty_files({"memory.max", "memory.swap.max"});
  const auto applied = version_2_.apply({.memory_bytes = 4096, .swap_bytes = 0, .swappiness = 0}, false);
  EXPECT_THAT(applied.error().message, HasSubstr("no swappiness of their own"));
}

TEST_F(Group, WithoutItsFilesNothingIsClaimed) {
  EXPECT_THAT(
      version_1_.apply({.memory_bytes = 4096, .swap_bytes = 0, .swappiness = {}}, false).error().message,
      HasSubstr("memory.limit_in_bytes"));
  EXPECT_EQ(version_1_.read(), GroupState{});
  EXPECT_EQ(version_2_.read(), GroupState{});
  EXPECT_THAT(version_2_.processes(), ElementsAre());
}

TEST_F(Group, Version1IsReadWithTheGroupsBelow) {
  file("memory.usage_in_bytes", "1000\n");
  file("memory.max_usage_in_bytes", "2000\n");
  file("memory.memsw.max_usage_in_bytes", "5000\n");
  file("memory.failcnt", "3\n");
  file("memory.memsw.failcnt", "4\n");
  file("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  file("memory.kmem.usage_in_bytes", "77\n");
  file("memory.stat",
       "cache 1\nrss 1\nswap 1\ntotal_cache 900\ntotal_rss 500\ntotal_shmem 300\ntotal_dirty "
       "100\ntotal_writeback 50\n"
       "total_swap 40\ntotal_pgfault 20\ntotal_pgmajfault 5\ntotal_workingset_refault_anon "
       "1\ntotal_workingset_refault_file 6\n");
  const GroupState state = version_1_.read();
  EXPECT_EQ(state.usage_bytes, 1000U);
  EXPECT_EQ(state.peak_bytes, 2000U);
  EXPECT_EQ(state.peak_with_swap_bytes, 5000U);
  EXPECT_EQ(state.limit_hits, 7U);
  EXPECT_EQ(state.oom_kills, 2U);
  EXPECT_EQ(state.swap_bytes, 40U);
  EXPECT_EQ(state.minor_faults, 15U);
  EXPECT_EQ(state.major_faults, 5U);
  EXPECT_EQ(state.refaults, 7U);
  EXPECT_EQ(state.pressure, std::nullopt);
  EXPECT_THAT(
      state.parts,
      ElementsAre(Pair("anonymous", 500), Pair("files, clean", 450), Pair("shared memory and tmpfs", 300),
                  Pair("files, not yet written", 150), Pair("kernel (page tables, stacks, objects)", 77)));
}

TEST_F(Group, Version1HasMetItsLimitWhereItKilledThoughNothingWasCounted) {
  file("memory.failcnt", "0\n");
  file("memory.memsw.failcnt", "0\n");
  file("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_EQ(version_1_.read().limit_hits, 1U);
}

TEST_F(Group, Version2IsReadWithItsEventsAndItsPressure) {
  file("memory.current", "1000\n");
  file("memory.peak", "2000\n");
  file("memory.swap.current", "30\n");
  file("memory.swap.peak", "60\n");
  file("memory.events", "low 0\nhigh 9\nmax 8\noom 2\noom_kill 1\noom_group_kill 0\n");
  file("memory.stat",
       "anon 500\nfile 400\nshmem 100\nfile_dirty 50\nfile_writeback 0\nkernel_stack 16\npagetables 8\nslab "
       "4\n"
       "pgfault 20\npgmajfault 5\nworkingset_refault_anon 2\nworkingset_refault_file 3\n");
  file("memory.pressure",
       "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=45\n");
  const GroupState state = version_2_.read();
  EXPECT_EQ(state.peak_bytes, 2000U);
  EXPECT_EQ(state.swap_peak_bytes, 60U);
  EXPECT_EQ(state.limit_hits, 8U);
  EXPECT_EQ(state.high_hits, 9U);
  EXPECT_EQ(state.ooms, 2U);
  EXPECT_EQ(state.oom_kills, 1U);
  EXPECT_EQ(state.refaults, 5U);
  EXPECT_EQ(state.pressure, (Pressure{123, 45}));
  EXPECT_THAT(state.parts, ElementsAre(Pair("anonymous", 500), Pair("files, clean", 250),
                                       Pair("shared memory and tmpfs", 100),
                                       Pair("files, not yet written", 50), Pair("kernel stacks", 16),
                                       Pair("page tables", 8), Pair("kernel objects (slab)", 4)));
}

TEST_F(Group, KernelBefore519HasNoPeak) {
  file("memory.current", "1000\n");
  EXPECT_EQ(version_2_.read().peak_bytes, std::nullopt);
}

TEST_F(Group, ControlFilesAreNotFollowedElsewhere) {
  std::filesystem::create_symlink("/dev/null", folder_ + "/memory.max");
  EXPECT_FALSE(write_control(folder_ + "/memory.max", "1"));
}

TEST(Swap, IsThereWhereItsTableHasARow) {
  EXPECT_FALSE(has_swap("Filename\t\tType\t\tSize\n"));
  EXPECT_FALSE(has_swap(""));
  EXPECT_TRUE(has_swap("Filename\tType\n/dev/sda2 partition 1 0 -2\n"));
}

TEST(RemoveGroup, FolderThatIsGoneIsRemoved) {
  EXPECT_TRUE(remove_group(1, testing::TempDir() + "fathom-no-such-group", 0));
}

TEST(RemoveGroup, FoldersBelowGoFirst) {
  const std::string folder = testing::TempDir() + "fathom-nested-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder + "/a/b");
  std::filesystem::create_directories(folder + "/c");
  EXPECT_TRUE(remove_group(2, folder, 0));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(RemoveGroup, AGroupThatCannotBeRemovedIsReportedAfterTheTime) {
  const std::string folder = testing::TempDir() + "fathom-full-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/x") << "1";
  EXPECT_FALSE(remove_group(2, folder, 10));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fathom::limit
