#include "watch/log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"

namespace fathom::watch {
namespace {

class LogFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "watch-log-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name = "x.csv") const { return folder_ + "/" + name; }
  std::string folder_;
};

TEST_F(LogFile, LinesAreAppendedBelowOneHead) {
  for (const char* line : {"1,2", "3,4"}) {
    auto log = Log::open(file(), "a,b");
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE(log->add(line));
  }
  EXPECT_EQ(read_file(file()).value(), "a,b\n1,2\n3,4\n");
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  EXPECT_TRUE(Log::is_csv(file()));
  EXPECT_FALSE(Log::is_csv("x.jsonl"));
}

TEST_F(LogFile, StaysWithinItsBounds) {
  auto log = Log::open(file(), "head", {.bytes = 100, .files = 2});
  ASSERT_TRUE(log);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(log->add("0123456789"));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    ++files;
    EXPECT_LE(entry.file_size(), 100u);
    EXPECT_TRUE(read_file(entry.path()).value().starts_with("head\n0123456789\n"));
  }
  EXPECT_EQ(files, 3u);
}

TEST_F(LogFile, ALineLongerThanTheBoundIsWrittenAllTheSame) {
  auto log = Log::open(file("x"), "", {.bytes = 10, .files = 1});
  ASSERT_TRUE(log);
  ASSERT_TRUE(log->add(std::string(50, 'a')));
  ASSERT_TRUE(log->add(std::string(50, 'b')));
  EXPECT_EQ(read_file(file("x")).value(), std::string(50, 'b') + "\n");
  EXPECT_EQ(read_file(file("x.1")).value(), std::string(50, 'a') + "\n");
}

TEST_F(LogFile, LinksPipesAndFoldersAreRefused) {
  ASSERT_EQ(::symlink("/dev/null", file("link").c_str()), 0);
  EXPECT_FALSE(Log::open(file("link"), ""));
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(Log::open(file("pipe"), ""));
  EXPECT_FALSE(Log::open(folder_, ""));
  EXPECT_FALSE(Log::open(file("no/such"), ""));
}

}  // namespace
}  // namespace fathom::watch
