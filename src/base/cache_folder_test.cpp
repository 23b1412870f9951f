#include "base/cache_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

namespace fathom {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  Cache() {
    std::string name = testing::TempDir() + "fathom-cache-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Cache() override { fs::remove_all(folder_); }

  static void save(CacheFolder& cache, const std::string& name, const std::string& content) {
    cache.save(name, std::as_bytes(std::span(content)));
  }
  // Why there is no cache in this folder, and whether one would write there all the same.
  static std::string refusal(const std::string& path) {
    CacheFolder cache(path, 1000);
    save(cache, "x", "1");
    EXPECT_FALSE(cache.is_there());
    return cache.refusal();
  }

  std::string folder_;
};

TEST_F(Cache, KeepsWhatWasSaved) {
  CacheFolder cache(folder_ + "/fathom/names", 1000);
  save(cache, "a-1", "text");
  EXPECT_EQ(cache.load("a-1", 100), "text");
  EXPECT_EQ(cache.load("a-1", 3), std::nullopt);
  EXPECT_EQ(cache.load("../a-1", 100), std::nullopt);
}

TEST_F(Cache, AFolderThatAGroupMayWriteIsNotOurs) {
  const std::string shared = folder_ + "/shared";
  for (const mode_t mode : {0770U, 0720U, 0777U, 01777U & ~0002U}) {
    fs::create_directory(shared);
    ASSERT_EQ(::chmod(shared.c_str(), mode), 0);
    EXPECT_NE(refusal(shared), "") << std::oct << mode;
    EXPECT_TRUE(fs::is_empty(shared));
    EXPECT_NE(refusal(shared + "/fathom"), "") << "made in it: whoever may write could exchange it";
    EXPECT_TRUE(fs::is_empty(shared));
    fs::remove_all(shared);
  }
}

TEST_F(Cache, AFolderOfAnotherUserAndALinkOfAnotherUserAreNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder of somebody else";
  constexpr uid_t kNobody = 65534;
  // The home of a user, as root sees it with HOME of that user: its .cache leads to a folder of root's.
  const std::string home = folder_ + "/home", ours = folder_ + "/ours";
  fs::create_directories(home);
  fs::create_directories(ours + "/fathom/names");
  fs::create_directory_symlink(ours, home + "/.cache");
  ASSERT_EQ(::lchown(home.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::lchown((home + "/.cache").c_str(), kNobody, kNobody), 0);
  EXPECT_NE(refusal(home + "/.cache/fathom/names"), "");
  EXPECT_TRUE(fs::is_empty(ours + "/fathom/names"));
  // A link of root's in a folder of theirs can be exchanged by them at any time.
  ASSERT_EQ(::lchown((home + "/.cache").c_str(), 0, 0), 0);
  EXPECT_NE(refusal(home + "/.cache/fathom/names"), "");
  EXPECT_TRUE(fs::is_empty(ours + "/fathom/names"));
  fs::remove(home + "/.cache");
  // A folder of ours below one of theirs can be exchanged as well.
  fs::create_directories(home + "/.cache/fathom/names");
  ASSERT_EQ(::lchown((home + "/.cache").c_str(), kNobody, kNobody), 0);
  EXPECT_NE(refusal(home + "/.cache/fathom/names"), "");
  EXPECT_TRUE(fs::is_empty(home + "/.cache/fathom/names"));
}

}  // namespace
}  // namespace fathom
