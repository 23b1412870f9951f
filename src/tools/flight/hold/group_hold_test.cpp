#include "tools/flight/hold/group_hold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace fathom::flight {
namespace {

using testing::HasSubstr;

// A folder with the files of a control group.
class Group : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fathom-hold-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    put("cgroup.procs", "10\n12\n");
    put("cgroup.freeze", "0\n");
    put("freezer.state", "THAWED\n");
    put("memory.high", "max\n");
    put("memory.current", "1073741824\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void put(const std::string& file, const std::string& text) const {
    std::ofstream(folder + "/" + file) << text;
  }
  std::string get(const std::string& file) const { return *read_file(folder + "/" + file); }
  std::string folder;
  IsOurs ours = [](std::int32_t pid) { return pid == 10 || pid == 12; };
};

TEST_F(Group, OfRecordedProcessesAloneIsFrozenAndReleased) {
  const auto version_2 = freeze_of(folder, 2, ours);
  ASSERT_TRUE(version_2) << version_2.error().message;
  EXPECT_EQ(*version_2, (Hold{folder + "/cgroup.freeze", "1", "0", kMostFrozenMs}));
  const auto version_1 = freeze_of(folder, 1, ours);
  ASSERT_TRUE(version_1) << version_1.error().message;
  ASSERT_TRUE(hold(*version_1));
  EXPECT_THAT(get("freezer.state"), testing::StartsWith("FROZEN"));
  let_go(*version_1);
  EXPECT_THAT(get("freezer.state"), testing::StartsWith("THAWED"));
}

TEST_F(Group, WithAnotherProcessInItIsRejected) {
  put("cgroup.procs", "10\n12\n99\n");
  const auto refused = freeze_of(folder, 2, ours);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(": it also contains process 99, which is not recorded"));
  EXPECT_FALSE(brake_of(folder, ours));
}

TEST_F(Group, OfOtherPidNamespacesIsRefused) {
  put("cgroup.procs", "10\n0\n");
  EXPECT_FALSE(freeze_of(folder, 2, [](std::int32_t) { return true; }));
}

TEST_F(Group, EmptyOrWithGroupsBelowItIsRejected) {
  ASSERT_EQ(::mkdir((folder + "/below").c_str(), 0700), 0);
  EXPECT_THAT(freeze_of(folder, 2, ours).error().message, HasSubstr("groups below it"));
  std::filesystem::remove(folder + "/below");
  put("cgroup.procs", "");
  EXPECT_THAT(freeze_of(folder, 2, ours).error().message, HasSubstr(": it is empty"));
}

TEST_F(Group, FrozenByAnotherProcessStaysFrozen) {
  put("cgroup.freeze", "1\n");
  EXPECT_FALSE(freeze_of(folder, 2, ours));
  put("freezer.state", "FREEZING\n");
  EXPECT_FALSE(freeze_of(folder, 1, ours));
}

TEST_F(Group, IsBrakedALittleAboveWhatItUsesAndGetsBackWhatItHad) {
  EXPECT_EQ(
      *brake_of(folder, ours),
      (Hold{folder + "/memory.high", std::to_string(1073741824 + 1073741824 / 64), "max", kMostBrakedMs}));
  put("memory.high", "4294967296\n");
  EXPECT_EQ(brake_of(folder, ours)->off, "4294967296");
  put("memory.high", "1073741825\n");
  EXPECT_THAT(brake_of(folder, ours).error().message, HasSubstr("braked already"));
  put("memory.high", "soon\n");
  EXPECT_FALSE(brake_of(folder, ours));
}

}  // namespace
}  // namespace fathom::flight
