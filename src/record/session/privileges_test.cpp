#include "record/session/privileges.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

#include <string>
#include <vector>

namespace fathom::session {
namespace {

constexpr CapabilitySet kAdmin = capability(CAP_SYS_ADMIN);
constexpr CapabilitySet kRoot = (CapabilitySet{1} << 41) - 1;

// A kernel, by what it requires to open the events of the engine bpf.
struct Kernel {
  const char* name;
  std::vector<CapabilitySet> any_of;  // one of these sets is enough

  Result<> attempt(CapabilitySet with) const {
    for (const CapabilitySet set : any_of)
      if ((with & set) == set) return {};
    return fail(ErrorKind::kPermission, std::string(name) + ": Permission denied");
  }
};

const Kernel kVanilla{"vanilla", {capability(CAP_BPF) | capability(CAP_PERFMON), kAdmin}};
const Kernel kDebian{"perf_event_paranoid 3 on Debian", {kAdmin}};
const Kernel kSealed{"seccomp", {}};

KeptCapabilities choose(const Kernel& kernel, CapabilitySet own, PrivilegedParts parts = {}) {
  return choose_capabilities(parts, own, [&](CapabilitySet with) { return kernel.attempt(with); });
}

TEST(ChooseCapabilities, RootKeepsNoSysAdminWhereTheKernelDoesNotDemandIt) {
  const auto choice = choose(kVanilla, kRoot);
  EXPECT_TRUE(choice.tried);
  EXPECT_EQ(choice.kept, needed_capabilities({}));
  EXPECT_EQ(choice.kept & kAdmin, 0u);
}

TEST(ChooseCapabilities, RootKeepsSysAdminWhereTheKernelDemandsIt) {
  const auto choice = choose(kDebian, kRoot);
  EXPECT_TRUE(choice.tried);
  EXPECT_EQ(choice.kept, needed_capabilities({}) | kAdmin);
  EXPECT_EQ(choice.kept & capability(CAP_SYS_MODULE), 0u);
}

TEST(ChooseCapabilities, SysAdminStandsForBpfAndPerfmonInAContainer) {
  const CapabilitySet own = kAdmin | capability(CAP_SYS_PTRACE);
  const auto choice = choose(kVanilla, own);
  EXPECT_TRUE(choice.tried);
  EXPECT_EQ(choice.kept, own);
}

TEST(ChooseCapabilities, AllAreKeptWhereNothingLessWorks) {
  // ptrace: the tracer must have every capability of the target, or CAP_SYS_PTRACE.
  const CapabilitySet own = capability(CAP_NET_RAW) | capability(CAP_CHOWN);
  const auto choice = choose({"ptrace", {own}}, own);
  EXPECT_TRUE(choice.tried);
  EXPECT_EQ(choice.kept, own);
}

TEST(ChooseCapabilities, NoneIsKeptThatTheCallerDoesNotHave) {
  const CapabilitySet own = capability(CAP_BPF) | capability(CAP_PERFMON);
  EXPECT_EQ(choose(kVanilla, own).kept, own);
  EXPECT_FALSE(choose(kDebian, own).tried);
}

TEST(ChooseCapabilities, TheErrorIsThatOfAllCapabilities) {
  std::vector<CapabilitySet> tried;
  const auto choice = choose_capabilities({}, kRoot, [&](CapabilitySet with) {
    tried.push_back(with);
    return kSealed.attempt(with);
  });
  ASSERT_FALSE(choice.tried);
  EXPECT_EQ(choice.tried.error().message, "seccomp: Permission denied");
  EXPECT_EQ(tried.back(), kRoot);
}

TEST(ChooseCapabilities, NoSetIsTriedTwice) {
  int attempts = 0;
  const auto choice = choose_capabilities({}, 0, [&](CapabilitySet with) {
    ++attempts;
    return kSealed.attempt(with);
  });
  EXPECT_FALSE(choice.tried);
  EXPECT_EQ(attempts, 1);
}

TEST(ChooseCapabilities, PartsThatNeedSysAdminKeepItFromTheStart) {
  for (const PrivilegedParts parts :
       {PrivilegedParts{.heap = true}, PrivilegedParts{.without_bpf = true}, PrivilegedParts{.probes = true}})
    EXPECT_NE(choose(kVanilla, kRoot, parts).kept & kAdmin, 0u);
}

}  // namespace
}  // namespace fathom::session
