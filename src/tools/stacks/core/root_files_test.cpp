#include "tools/stacks/core/root_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fathom::stacks {
namespace {

using testing::ElementsAre;

class RootFiles : public testing::Test {
 protected:
  RootFiles() {
    std::string name = testing::TempDir() + "/root_files_XXXXXX";
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directories(root_ + "/usr/lib");
    std::ofstream(root_ + "/usr/lib/libx.so.6") << "theirs";
  }
  ~RootFiles() override { std::filesystem::remove_all(root_); }
  std::string content(const std::string& path) const {
    const Fd file = open_below(root_, path);
    char text[16] = {};
    const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
    return std::string(text, static_cast<std::size_t>(size));
  }
  std::string root_;
};

TEST_F(RootFiles, AbsoluteLinksStayBelowTheRoot) {
  std::filesystem::create_symlink("/usr/lib", root_ + "/lib");
  std::filesystem::create_symlink("/lib/libx.so.6", root_ + "/usr/lib/libx.so");
  EXPECT_EQ(content("/usr/lib/libx.so.6"), "theirs");
  EXPECT_EQ(content("/lib/libx.so.6"), "theirs");
  EXPECT_EQ(content("/usr/lib/libx.so"), "theirs");
}

TEST_F(RootFiles, LinksDoNotLeadOutOfIt) {
  std::filesystem::create_symlink("../../../../../../../../../../proc/self/status", root_ + "/usr/lib/out");
  EXPECT_EQ(content("/usr/lib/out"), "");
  EXPECT_FALSE(open_below(root_, "/proc/self/status"));
  EXPECT_TRUE(open_below("", "/proc/self/status")) << "our own root";
}

TEST_F(RootFiles, AMissingRootHasNoFiles) {
  EXPECT_FALSE(open_below(root_ + "/none", "/usr/lib/libx.so.6"));
}

TEST(SamePaths, HaveUsrOrNot) {
  EXPECT_THAT(same_paths("/usr/lib/libx.so.6"), ElementsAre("/usr/lib/libx.so.6", "/lib/libx.so.6"));
  EXPECT_THAT(same_paths("/lib/libx.so.6"), ElementsAre("/lib/libx.so.6", "/usr/lib/libx.so.6"));
}

}  // namespace
}  // namespace fathom::stacks
