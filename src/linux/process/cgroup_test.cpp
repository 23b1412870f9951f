#include "linux/process/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "linux/process/find.h"

namespace fathom::process {
namespace {

constexpr const char* kVersion1Mounts =
    "36 30 0:32 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "37 30 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "38 30 0:34 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
    "39 30 0:35 / /tmp rw - tmpfs tmpfs rw\n";
constexpr const char* kVersion2Mounts =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

std::optional<MemoryCgroup> find(std::string_view membership, std::string_view mounts) {
  return memory_cgroup(parse_cgroup(membership), parse_cgroup_mounts(mounts));
}

TEST(Cgroup, Version2) {
  EXPECT_EQ(find("0::/user.slice/a b.scope\n", kVersion2Mounts),
            (MemoryCgroup{2, "/sys/fs/cgroup/user.slice/a b.scope", "/user.slice/a b.scope"}));
}

TEST(Cgroup, Version1) {
  EXPECT_EQ(find("3:cpu,cpuacct:/x\n2:memory:/y/z\n", kVersion1Mounts),
            (MemoryCgroup{1, "/sys/fs/cgroup/memory/y/z", "/y/z"}));
}

TEST(Cgroup, InAHybridTheControllerDecides) {
  EXPECT_EQ(find("2:memory:/y\n0::/\n", kVersion1Mounts), (MemoryCgroup{1, "/sys/fs/cgroup/memory/y", "/y"}));
  EXPECT_EQ(find("3:cpu,cpuacct:/x\n0::/z\n", kVersion1Mounts),
            (MemoryCgroup{2, "/sys/fs/cgroup/unified/z", "/z"}));
}

TEST(Cgroup, RootOfTheTreeIsTheMountPoint) {
  EXPECT_EQ(find("0::/\n", kVersion2Mounts)->directory, "/sys/fs/cgroup");
}

TEST(Cgroup, ContainerWithoutNamespaceOfItsOwnSeesItsPartAsTheRoot) {
  constexpr const char* kMounts =
      "37 30 0:33 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
  EXPECT_EQ(find("2:memory:/docker/abc/sub\n", kMounts)->directory, "/sys/fs/cgroup/memory/sub");
  EXPECT_EQ(find("2:memory:/docker/abc\n", kMounts)->directory, "/sys/fs/cgroup/memory");
  EXPECT_FALSE(find("2:memory:/docker/abcd\n", kMounts));
}

TEST(Cgroup, OutsideOfOurNamespaceThereIsNoPath) {
  EXPECT_FALSE(find("0::/../other\n", kVersion2Mounts));
}

TEST(Cgroup, NothingMountedOrNothingSaid) {
  EXPECT_FALSE(find("0::/a\n", ""));
  EXPECT_FALSE(find("", kVersion2Mounts));
  EXPECT_FALSE(find("garbage\n:\n::\nx:y:z\n", kVersion2Mounts));
}

TEST(Cgroup, PathKeepsItsColons) {
  EXPECT_EQ(parse_cgroup("0::/a:b:c\n").front().path, "/a:b:c");
}

TEST(Cgroup, OwnMembershipIsReadable) {
  const auto memberships = read_cgroup(::getpid());
  ASSERT_TRUE(memberships);
  EXPECT_FALSE(memberships->empty());
  EXPECT_TRUE(read_memory_cgroup(::getpid()));
}

const std::string kId(64, 'a');

std::optional<Container> guess(const std::string& path) {
  return guess_container(parse_cgroup("0::" + path + "\n"));
}

TEST(Container, NamesOfTheCommonEngines) {
  EXPECT_EQ(guess("/docker/" + kId), (Container{"docker", kId}));
  EXPECT_EQ(guess("/system.slice/docker-" + kId + ".scope"), (Container{"docker", kId}));
  EXPECT_EQ(guess("/machine.slice/libpod-" + kId + ".scope/container"), (Container{"podman", kId}));
  EXPECT_EQ(guess("/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + kId + ".scope"),
            (Container{"containerd", kId}));
  EXPECT_EQ(guess("/kubepods/besteffort/pod1/" + kId), (Container{"kubernetes", kId}));
  EXPECT_EQ(guess("/lxc/web"), (Container{"lxc", "web"}));
  EXPECT_EQ(guess("/lxc.payload.web/init.scope"), (Container{"lxc", "web"}));
}

TEST(Container, OrdinaryServicesAreNone) {
  EXPECT_FALSE(guess("/"));
  EXPECT_FALSE(guess("/system.slice/docker.service"));
  EXPECT_FALSE(guess("/user.slice/user-1000.slice/session-2.scope"));
  EXPECT_FALSE(guess("/system.slice/docker-short.scope"));
}

}  // namespace
}  // namespace fathom::process
