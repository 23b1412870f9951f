#include "tools/limit/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace fathom::limit {
namespace {

using testing::HasSubstr;

// A made-up tree of control groups: plain files.
class Tree : public testing::Test {
 protected:
  Tree() { std::filesystem::create_directories(root_); }
  ~Tree() override { std::filesystem::remove_all(root_); }
  std::string group(const std::string& path, const std::string& controllers, const std::string& for_children,
                    const std::string& limit = "max") {
    const std::string folder = root_ + path;
    std::filesystem::create_directories(folder);
    file(path + "/cgroup.procs", "");
    file(path + "/cgroup.controllers", controllers + "\n");
    file(path + "/cgroup.subtree_control", for_children + "\n");
    file(path + "/memory.max", limit + "\n");
    return folder;
  }
  void file(const std::string& path, const std::string& content) {
    std::ofstream(root_ + path, std::ios::binary) << content;
  }
  Surroundings in(int version, const std::string& path) {
    Surroundings around;
    around.own = process::MemoryCgroup{version, root_ + (path == "/" ? "" : path), path};
    return around;
  }

  std::string root_ = testing::TempDir() + "fathom-tree-" + std::to_string(::getpid());
  bool needs_scope_ = false;
};

TEST_F(Tree, Version1IsBelowOurOwnGroup) {
  const auto place = find_place(in(1, "/a/b"), needs_scope_);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->parent, root_ + "/a/b");
  EXPECT_EQ(place->path, "/a/b");
  EXPECT_FALSE(place->enable);
  EXPECT_EQ(find_place(in(1, "/"), needs_scope_)->path, "");
}

TEST_F(Tree, Version2FromItsRoot) {
  group("", "cpu memory pids", "");
  const auto place = find_place(in(2, "/"), needs_scope_);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->parent, root_);
  EXPECT_TRUE(place->enable);
  EXPECT_EQ(place->keep_self, "");
}

TEST_F(Tree, Version2WithoutItsControllerIsRefused) {
  group("", "hugetlb", "");
  const auto place = find_place(in(2, "/"), needs_scope_);
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("no memory controller"));
}

TEST_F(Tree, Version2NextToOurOwnGroupIfTheParentGivesMemory) {
  group("", "memory", "memory");
  group("/box", "memory", "memory");
  group("/box/us", "memory", "");
  const auto place = find_place(in(2, "/box/us"), needs_scope_);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->parent, root_ + "/box");
  EXPECT_EQ(place->path, "/box");
  EXPECT_FALSE(place->enable) << "what others arranged stays as it is";
}

TEST_F(Tree, Version2WhoseParentGivesNoMemoryIsRefused) {
  group("/box", "memory", "");
  group("/box/us", "", "");
  const auto place = find_place(in(2, "/box/us"), needs_scope_);
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().remedy, HasSubstr("delegated"));
}

TEST_F(Tree, SystemdIsAskedForAScope) {
  group("/user.slice/session-1.scope", "memory", "");
  Surroundings around = in(2, "/user.slice/session-1.scope");
  around.systemd = true;
  EXPECT_FALSE(find_place(around, needs_scope_));
  EXPECT_TRUE(needs_scope_);
}

TEST_F(Tree, InADelegatedScopeWeMoveAside) {
  const std::string folder = group("/run-1.scope", "cpu memory", "");
  file("/run-1.scope/cgroup.procs", "");
  Surroundings around = in(2, "/run-1.scope");
  around.systemd = around.in_scope = true;
  const auto place = find_place(around, needs_scope_);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_FALSE(needs_scope_);
  EXPECT_EQ(place->keep_self, folder + "/fathom-self");
  Fd in_use;
  const auto made = make_group(*place, "fathom-limit-1", in_use);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->directory(), folder + "/fathom-limit-1");
  EXPECT_TRUE(std::filesystem::is_directory(place->keep_self));
  EXPECT_THAT(read_file(folder + "/cgroup.subtree_control").value(), HasSubstr("+memory"));
}

TEST_F(Tree, ControllerIsSwitchedOffByWhoLeavesLast) {
  group("", "memory", "");
  const Place place = *find_place(in(2, "/"), needs_scope_);
  Fd first, second;
  ASSERT_TRUE(make_group(place, "one", first));
  ASSERT_TRUE(make_group(place, "two", second));
  file("/cgroup.subtree_control", "");
  leave_place(place, std::move(first));
  EXPECT_EQ(read_file(root_ + "/cgroup.subtree_control").value(), "") << "the other still needs it";
  leave_place(place, std::move(second));
  EXPECT_EQ(read_file(root_ + "/cgroup.subtree_control").value(), "-memory");
}

TEST_F(Tree, InAScopeWithoutTheControllerIsRefused) {
  group("/run-1.scope", "cpu", "");
  Surroundings around = in(2, "/run-1.scope");
  around.systemd = around.in_scope = true;
  EXPECT_THAT(find_place(around, needs_scope_).error().message, HasSubstr("delegated no memory controller"));
}

TEST(Place, WithoutControlGroupsThereIsNone) {
  bool needs_scope = false;
  EXPECT_THAT(find_place(Surroundings{}, needs_scope).error().message,
              HasSubstr("no control groups that count memory"));
}

TEST_F(Tree, LowerLimitOfAGroupAboveIsSeen) {
  group("/a", "memory", "memory", "1000");
  group("/a/b", "memory", "memory", "5000");
  group("/a/b/c", "memory", "", "max");
  EXPECT_EQ(lower_limit_above(2, root_ + "/a/b/c", 4000), 1000U);
  EXPECT_EQ(lower_limit_above(2, root_ + "/a/b/c", 800), std::nullopt);
}

TEST(Scope, IsAskedOfTheManagerOfTheUser) {
  EXPECT_THAT(
      in_delegated_scope({"/usr/bin/fathom", "limit"}, true),
      testing::ElementsAre("systemd-run", "--user", "--scope", "--quiet", "--collect", "-p", "Delegate=yes",
                           "-p", "MemoryAccounting=yes", "--", "/usr/bin/fathom", "limit"));
}

}  // namespace
}  // namespace fathom::limit
