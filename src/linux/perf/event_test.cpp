#include "linux/perf/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace fathom::sources {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Cpus, ListOfRangesAndNumbers) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("0\n"), (std::vector<int>{0}));
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("3-1").empty());
  EXPECT_TRUE(parse_cpu_list("0-99999999").empty());
  EXPECT_TRUE(parse_cpu_list("a-b").empty());
  EXPECT_FALSE(online_cpus().empty());
}

// Debian's and Ubuntu's kernels demand CAP_SYS_ADMIN where the setting is above 2, so CAP_PERFMON is no remedy there.
TEST(RemedyForRights, OffersNoCapPerfmonAloneAboveParanoidTwo) {
  for (const char* paranoid : {"3", "4"}) {
    EXPECT_THAT(remedy_for_rights(true, {.paranoid = paranoid}),
                HasSubstr("sudo sysctl kernel.perf_event_paranoid=2"));
    const std::string all = remedy_for_rights(false, {.paranoid = paranoid});
    EXPECT_LT(all.find("sysctl kernel.perf_event_paranoid=2"), all.find("setcap cap_bpf,cap_perfmon"));
  }
}

TEST(RemedyForRights, OffersCapabilitiesUpToPerfEventParanoidTwo) {
  for (const char* paranoid : {"-1", "2", "?"}) {
    const std::string all = remedy_for_rights(false, {.paranoid = paranoid});
    EXPECT_THAT(all, HasSubstr("setcap cap_bpf,cap_perfmon"));
    EXPECT_THAT(all, Not(HasSubstr("sysctl")));
  }
}

TEST(RemedyForRights, RootNeedsCapabilitiesOfTheContainer) {
  EXPECT_THAT(remedy_for_rights(false, {.root = true}), HasSubstr("--cap-add BPF --cap-add PERFMON"));
  EXPECT_THAT(remedy_for_rights(false, {.root = true, .paranoid = "3"}), HasSubstr("--cap-add SYS_ADMIN"));
}

TEST(RemedyForRights, AFilterIsNamedFirst) {
  for (const bool root : {false, true})
    EXPECT_THAT(remedy_for_rights(true, {.root = root, .filtered = true}), HasSubstr("seccomp=unconfined"));
}

TEST(OpenEventError, WithoutAHardwareCounterTheClockIsTheRemedy) {
  perf_event_attr attributes = base_attributes();
  attributes.type = PERF_TYPE_HARDWARE;
  for (const int error_number : {ENOENT, ENODEV, ENXIO, EOPNOTSUPP}) {
    const Error error = open_event_error(attributes, "cycles", error_number);
    EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr("no hardware counter for cycles"));
    EXPECT_THAT(error.remedy, HasSubstr("cpu-clock"));
  }
  EXPECT_EQ(open_event_error(attributes, "cycles", EACCES).kind, ErrorKind::kPermission);
  attributes.type = PERF_TYPE_SOFTWARE;
  EXPECT_THAT(open_event_error(attributes, "cpu-clock", ENOENT).message, Not(HasSubstr("hardware")));
}

}  // namespace
}  // namespace fathom::sources
