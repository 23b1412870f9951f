#include "tools/doctor/memory_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::doctor {
namespace {

using testing::HasSubstr;
using State = MemoryController::State;

constexpr const char* kEnabled =
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t3\t1\nmemory\t4\t66\t1\n";
constexpr const char* kDisabled =
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t3\t1\nmemory\t0\t1\t0\n";

const process::CgroupMount kVersion1{1, "/", "/sys/fs/cgroup/memory", {"rw", "memory"}};
const process::CgroupMount kVersion2{2, "/", "/sys/fs/cgroup", {"rw"}};

std::vector<Finding> findings_of(const MachineFacts& machine, const TargetFacts* target = nullptr) {
  std::vector<Finding> findings;
  find_about_memory(machine, target, findings);
  return findings;
}

TEST(MemoryController, IsInOneOfTheVersions) {
  const auto one = judge_memory_controller({.mounts = {kVersion2, kVersion1}, .proc_cgroups = kEnabled});
  EXPECT_EQ(one.state, State::kUsable);
  EXPECT_EQ(one.version, 1);
  EXPECT_FALSE(one.counts_swap);
  const auto two =
      judge_memory_controller({.mounts = {kVersion2}, .controllers = "cpuset cpu memory pids\n"});
  EXPECT_EQ(two.state, State::kUsable);
  EXPECT_EQ(two.version, 2);
  EXPECT_TRUE(two.counts_swap);
}

TEST(MemoryController, AKernelParameterIsNamedOnlyWhereItHelps) {
  struct Row {
    MemoryControllerFiles files;
    State state;
    const char* remedy;  // a part; null: no finding
  };
  for (const Row& row : {
           Row{{.mounts = {kVersion2}, .controllers = "cpu pids\n", .proc_cgroups = kDisabled},
               State::kDisabled,
               "add cgroup_enable=memory"},
           Row{{.mounts = {kVersion2},
           .controllers = "cpu\n",
           .proc_cgroups = kDisabled,
           .command_line = "quiet cgroup_disable=memory\n"},
               State::kDisabled,
               "remove cgroup_disable=memory"},
           Row{{.mounts = {kVersion2},
           .controllers = "cpu\n",
           .command_line = "cgroup_disable=cpu,memory quiet"},
               State::kDisabled,
               "remove cgroup_disable=memory"},
           Row{{.mounts = {kVersion2}, .controllers = "cpu\n", .proc_cgroups = kEnabled},
               State::kNotHere,
               "no kernel parameter is needed"},
           Row{{}, State::kUnknown, nullptr},
           Row{{.mounts = {kVersion2}, .controllers = "memory"}, State::kUsable, nullptr},
       }) {
    MachineFacts machine;
    machine.memory_controller = judge_memory_controller(row.files);
    EXPECT_EQ(machine.memory_controller.state, row.state) << row.files.command_line;
    const auto findings = findings_of(machine);
    ASSERT_EQ(findings.size(), row.remedy == nullptr ? 0u : 1u);
    if (row.remedy == nullptr) continue;
    const Remedy& remedy = findings.front().remedies.front();
    EXPECT_THAT(remedy.command + remedy.side_effects, HasSubstr(row.remedy));
  }
}

TEST(MemoryController, SwapThatIsNotCountedEvadesALimit) {
  MachineFacts machine;
  machine.memory_controller = {.state = State::kUsable, .version = 1};
  EXPECT_TRUE(findings_of(machine).empty()) << "there is none to count";
  machine.swap.bytes = std::uint64_t{8} << 30;
  ASSERT_EQ(findings_of(machine).size(), 1u);
  EXPECT_THAT(findings_of(machine).front().remedies.front().command, HasSubstr("swapaccount=1"));
  machine.memory_controller.counts_swap = true;
  EXPECT_TRUE(findings_of(machine).empty());
}

TEST(Swap, IsReadFromMeminfo) {
  const Swap swap = parse_swap("MemTotal: 100 kB\nSwapTotal:  2097152 kB\nSwapFree: 1048576 kB\n", 60);
  EXPECT_EQ(swap.bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(swap.used_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(to_text(swap), "swap: 2.0 GiB (1.0 GiB used), swappiness 60");
  EXPECT_EQ(to_text(parse_swap("SwapTotal: 0 kB\nSwapFree: 0 kB\n", 60)), "swap: none");
  EXPECT_EQ(parse_swap("SwapTotal: 99999999999999999999 kB\nSwapFree: 5", {}).bytes, 0u);
}

TEST(Swap, OfATargetIsWhatItsGroupMayUse) {
  MachineFacts machine;
  machine.memory_controller = {.state = State::kUsable, .version = 2, .counts_swap = true};
  TargetFacts target;
  EXPECT_TRUE(findings_of(machine, &target).empty());
  machine.swap.bytes = std::uint64_t{8} << 30;
  EXPECT_THAT(findings_of(machine, &target).front().text, HasSubstr("may use 8.0 GiB of swap"));
  target.swap_limit_bytes = 1 << 30;
  EXPECT_THAT(findings_of(machine, &target).front().text, HasSubstr("may use 1.0 GiB of swap"));
  target.swap_limit_bytes = 0;
  EXPECT_THAT(findings_of(machine, &target).front().text, HasSubstr("may not use swap"));
}

}  // namespace
}  // namespace fathom::doctor
