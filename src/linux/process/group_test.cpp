#include "linux/process/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fathom::process {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Hierarchies of both versions as folders, with a service, a container of docker and one of Kubernetes.
class Groups : public testing::Test {
 protected:
  Groups() {
    add("10\n11\n", "1:name=systemd:/system.slice/redis.service\n0::/system.slice/redis.service\n",
        {"systemd/system.slice/redis.service", "unified/system.slice/redis.service"});
    add("12\n", "1:name=systemd:/system.slice/redis.service/worker\n",
        {"systemd/system.slice/redis.service/worker"});
    add("20\n0\n", "0::/system.slice/docker-" + web_ + ".scope\n",
        {"unified/system.slice/docker-" + web_ + ".scope"});
    add("21\n", "0::/system.slice/docker-" + db_ + ".scope\n",
        {"unified/system.slice/docker-" + db_ + ".scope"});
    add("30\n", "1:name=systemd:/kubepods/besteffort/pod1/" + pod_ + "\n",
        {"systemd/kubepods/besteffort/pod1/" + pod_});
    view_.mounts = {{1, "/", root_ + "/systemd", {"name=systemd"}}, {2, "/", root_ + "/unified", {}}};
    view_.containers = {{web_, "web"}, {pod_, "reth"}};
  }
  ~Groups() override { std::filesystem::remove_all(root_); }

  void add(const std::string& pids, const std::string& memberships, const std::vector<std::string>& folders) {
    view_.memberships.push_back(parse_cgroup(memberships));
    for (const std::string& folder : folders) {
      std::filesystem::create_directories(root_ + "/" + folder);
      std::ofstream(root_ + "/" + folder + "/cgroup.procs") << pids;
    }
  }

  const std::string root_ = testing::TempDir() + "fathom-groups-" + std::to_string(::getpid());
  const std::string web_ = "ab1" + std::string(61, '1'), db_ = "ab2" + std::string(61, '2'),
                    pod_ = "f00" + std::string(61, '3');
  GroupView view_;
};

TEST_F(Groups, OfAUnitHoldItsProcessesAndThoseBelow) {
  const auto group = group_of_unit(view_, "redis");
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(group->title, "redis.service (unit)");
  EXPECT_EQ(group->folder, root_ + "/unified/system.slice/redis.service") << "version 2 comes first";
  EXPECT_THAT(members_of(*group), ElementsAre(10, 11));
  std::filesystem::remove_all(root_ + "/unified");
  EXPECT_THAT(members_of(group_of_unit(view_, "redis.service").value()), ElementsAre(10, 11, 12));
}

TEST_F(Groups, OfAUnitThatIsNotThereSayWhichAreNamedLikeIt) {
  const auto wrong = group_of_unit(view_, "Redi");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(wrong.error().message, HasSubstr("no unit Redi.service has a process"));
  EXPECT_EQ(wrong.error().remedy, "one of these: redis.service");
  EXPECT_THAT(group_of_unit(view_, "nginx").error().remedy, HasSubstr("redis.service, system.slice"));
}

TEST_F(Groups, OfAContainerAreFoundByNameIdAndItsBeginning) {
  for (const std::string& name : {std::string("web"), web_, web_.substr(0, 3), web_.substr(0, 12)}) {
    const auto group = group_of_container(view_, name);
    ASSERT_TRUE(group) << name << ": " << group.error().message;
    EXPECT_EQ(group->title, "web (container of docker, ab1111111111)");
    EXPECT_THAT(members_of(*group), ElementsAre(20)) << "0 is a process of a namespace that is not seen";
  }
  EXPECT_EQ(group_of_container(view_, "ab2")->title, "ab2222222222 (container of docker)")
      << "it has no name";
  EXPECT_EQ(group_of_container(view_, "reth")->title, "reth (container of kubernetes, f00333333333)");
}

TEST_F(Groups, OfAContainerThatIsNotOneAreRefusedWithThoseThatAre) {
  EXPECT_EQ(group_of_container(view_, "ab").error().kind, ErrorKind::kUsage);
  EXPECT_THAT(group_of_container(view_, "ab").error().message, HasSubstr("2 containers begin with ab"));
  EXPECT_EQ(group_of_container(view_, "").error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(group_of_container(view_, "we").error().remedy,
              HasSubstr("ab2222222222 (docker), reth (kubernetes f00333333333), web (docker ab1111111111)"));
}

TEST_F(Groups, AreFoundByPathAndByFolder) {
  EXPECT_THAT(members_of(group_at(view_, "/system.slice/redis.service").value()), ElementsAre(10, 11));
  EXPECT_THAT(members_of(group_at(view_, root_ + "/systemd/system.slice/redis.service/").value()),
              ElementsAre(10, 11, 12));
  for (const char* none : {"/nothing", "/system.slice/../../x", ".."})
    EXPECT_EQ(group_at(view_, none).error().kind, ErrorKind::kNotFound) << none;
}

TEST_F(Groups, SeenFromInsideOfAContainerBeginAtItsRoot) {
  view_.mounts = {{2, "/system.slice", root_ + "/unified/system.slice", {}}};
  EXPECT_THAT(members_of(group_at(view_, "/system.slice/redis.service").value()), ElementsAre(10, 11));
  EXPECT_FALSE(group_at(view_, "/system.slices/redis.service"));
}

TEST_F(Groups, ThatAreGoneHaveNoMembers) {
  const auto group = group_of_unit(view_, "redis").value();
  std::filesystem::remove_all(root_);
  EXPECT_THAT(members_of(group), ElementsAre());
}

TEST(GroupsOfThisMachine, HoldThisProcess) {
  EXPECT_FALSE(read_groups().memberships.empty());
}

TEST(GroupsOfThisMachine, AreAllOfItsProgramsAndNoThreadOfTheKernel) {
  const auto all = members_of(whole_machine());
  EXPECT_THAT(all, testing::Contains(::getppid()));
  EXPECT_THAT(all, testing::Not(testing::Contains(::getpid())));
  for (const int pid : all) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    if (text.empty()) continue;  // it has ended meanwhile
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 3; i < 9; ++i) fields >> skipped;
    unsigned long flags = 0;
    fields >> flags;
    constexpr unsigned long kKernelThread = 0x00200000;  // PF_KTHREAD of the kernel's sched.h
    EXPECT_EQ(flags & kKernelThread, 0u) << pid;
  }
}

}  // namespace
}  // namespace fathom::process
