#include "tools/watch/log.h"

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

TEST_F(LogFile, AFileOfAnotherUserOrWithTwoNamesIsRejected) {
  ASSERT_TRUE(Log::open(file("one"), "").has_value());
  ASSERT_EQ(::link(file("one").c_str(), file("two").c_str()), 0);
  EXPECT_FALSE(Log::open(file("two"), "")) << "it would be written under its other name, too";
  if (::geteuid() != 0) return;  // only root can give files away
  ASSERT_TRUE(Log::open(file("others"), "").has_value());
  ASSERT_EQ(::chown(file("others").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(Log::open(file("others"), ""));
}

TEST_F(LogFile, AFolderInWhichAllMayWriteIsRefused) {
  const std::string open_to_all = file("open");
  ASSERT_EQ(::mkdir(open_to_all.c_str(), 0700), 0);
  EXPECT_TRUE(Log::open(open_to_all + "/a", "").has_value());
  ASSERT_EQ(::chmod(open_to_all.c_str(), 0777), 0);
  EXPECT_FALSE(Log::open(open_to_all + "/a", "")) << "somebody may put a link there";
  ASSERT_EQ(::symlink(folder_.c_str(), file("elsewhere").c_str()), 0);
  EXPECT_FALSE(Log::open(file("elsewhere") + "/a", ""));
}

TEST_F(LogFile, TwoDoNotRotateOneFile) {
  auto first = Log::open(file(), "a");
  ASSERT_TRUE(first.has_value());
  const auto second = Log::open(file(), "a");
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find("another fathom watch"), std::string::npos) << second.error().message;
}

TEST_F(LogFile, WhereTheFolderGoesTheLogGoesWithIt) {
  const std::string before = file("before"), after = file("after");
  ASSERT_EQ(::mkdir(before.c_str(), 0700), 0);
  auto log = Log::open(before + "/x", "", {.bytes = 10, .files = 1});
  ASSERT_TRUE(log.has_value());
  ASSERT_TRUE(log->add("first"));
  ASSERT_EQ(::rename(before.c_str(), after.c_str()), 0);
  ASSERT_EQ(::symlink("/", before.c_str()), 0);
  ASSERT_TRUE(log->add("second")) << "it is rotated in the folder that was opened";
  EXPECT_EQ(read_file(after + "/x.1").value(), "first\n");
  EXPECT_EQ(read_file(after + "/x").value(), "second\n");
}

TEST_F(LogFile, ALineThatBrokeOffIsEndedAndAnotherTableIsPutAside) {
  ASSERT_TRUE(write_file(file("broken"), "a,b\n1,").has_value());
  ASSERT_TRUE(Log::open(file("broken"), "a,b")->add("2,3"));
  EXPECT_EQ(read_file(file("broken")).value(), "a,b\n1,\n2,3\n");
  ASSERT_TRUE(write_file(file(), "a,b\n1,2\n").has_value());
  ASSERT_TRUE(Log::open(file(), "a,b,c")->add("1,2,3"));
  EXPECT_EQ(read_file(file()).value(), "a,b,c\n1,2,3\n");
  EXPECT_EQ(read_file(file() + ".1").value(), "a,b\n1,2\n");
}

TEST_F(LogFile, ARemovedOneIsStartedAgain) {
  auto log = Log::open(file(), "a");
  ASSERT_TRUE(log->add("1"));
  ASSERT_EQ(::unlink(file().c_str()), 0);
  ASSERT_TRUE(log->add("2"));
  EXPECT_EQ(read_file(file()).value(), "a\n2\n");
}

}  // namespace
}  // namespace fathom::watch
