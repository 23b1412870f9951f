// One error number has several causes: each is reported with the remedy that helps.
#include "record/bpf/load_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace fathom::sources {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kRefused =
    "libbpf: prog 'sample_cpu': BPF program load failed: Permission denied\n"
    "libbpf: prog 'sample_cpu': -- BEGIN PROG LOAD LOG --\n"
    "; int sample_cpu(struct bpf_perf_event_data* context)\n"
    "0: (7b) *(u64 *)(r1 +0) = r1\n"
    "R1 invalid mem access 'scalar'\n"
    "processed 5 insns (limit 1000000) max_states_per_insn 0 total_states 1 peak_states 1 mark_read 1\n"
    "-- END PROG LOAD LOG --\n"
    "libbpf: prog 'sample_cpu': failed to load: -13\n";

KernelFacts facts() {
  KernelFacts facts;
  facts.remedy_for_rights = "run as root";
  return facts;
}

TEST(LoadError, TheVerifiersRefusalIsNoMissingCapability) {
  const Error error = explain_load_error(EACCES, kRefused, facts());
  EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
  EXPECT_EQ(error.message,
            "bpf: the kernel's verifier refused the program sample_cpu: R1 invalid mem access 'scalar'");
  EXPECT_THAT(error.remedy, Not(HasSubstr("root")));
}

TEST(LoadError, WithoutTheVerifiersWordRightsAreMissing) {
  for (const int error_number : {EPERM, EACCES}) {
    const Error error = explain_load_error(
        error_number, "libbpf: Error in bpf_object__probe_loading():Operation not permitted(1).\n", facts());
    EXPECT_EQ(error.kind, ErrorKind::kPermission);
    EXPECT_EQ(error.message, "bpf: this user may not load BPF programs");
    EXPECT_EQ(error.remedy, "run as root");
  }
}

TEST(LoadError, LockedMemoryOfOldKernels) {
  KernelFacts old = facts();
  old.short_of_locked_memory = true;
  EXPECT_THAT(explain_load_error(EPERM, "", old).remedy, HasSubstr("ulimit -l unlimited"));
}

TEST(LoadError, LockdownIsNamedAndNotItsConsequence) {
  KernelFacts locked = facts();
  locked.hides_memory = true;
  const Error error = explain_load_error(
      EINVAL,
      "libbpf: prog 'sample_cpu': BPF program load failed: Invalid argument\n"
      "libbpf: prog 'sample_cpu': -- BEGIN PROG LOAD LOG --\nunknown func bpf_probe_read_kernel#113\n"
      "-- END PROG LOAD LOG --\n",
      locked);
  EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("locked down (confidentiality)"));
  EXPECT_THAT(error.remedy, HasSubstr("lockdown=integrity"));
}

TEST(LoadError, AKernelWithoutTypesIsNamed) {
  KernelFacts bare = facts();
  bare.has_btf = false;
  const Error error = explain_load_error(ESRCH, "libbpf: failed to find valid kernel BTF\n", bare);
  EXPECT_THAT(error.message, HasSubstr("/sys/kernel/btf/vmlinux"));
  EXPECT_THAT(error.remedy, HasSubstr("CONFIG_DEBUG_INFO_BTF=y"));
}

TEST(LoadError, WhatHasNoNameIsTheKernelsWord) {
  EXPECT_EQ(explain_load_error(E2BIG, "libbpf: map 'cpu_ring': failed to create\nmore\n", facts()).message,
            "bpf: the kernel refused the programs: Argument list too long; libbpf: map 'cpu_ring': failed to "
            "create");
  EXPECT_THAT(explain_load_error(EAGAIN, "", facts()).message, HasSubstr("signals"));
}

}  // namespace
}  // namespace fathom::sources
