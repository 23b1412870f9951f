#include "binary/symbolize/symbol_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;

CachedNames some_names() {
  CachedNames names;
  names.add({0x1000}, {{"inner", "/src/a.h", 7}, {"outer", "/src/a.cpp", 12}});
  names.add({0x2000}, {{"outer", "/src/a.cpp", 99}});
  names.add({0x3000}, {});
  names.add({~std::uint64_t{0}}, {{"last", "", 0}});
  return names;
}

TEST(CachedNames, ComeBackAsTheyWere) {
  const auto bytes = some_names().encode("abcd", "symtab");
  const auto names = CachedNames::decode(bytes, "abcd", "symtab");
  ASSERT_TRUE(names);
  EXPECT_EQ(names->size(), 4u);
  EXPECT_EQ(names->find({0x1000}),
            (std::vector<Name>{{"inner", "/src/a.h", 7}, {"outer", "/src/a.cpp", 12}}));
  EXPECT_EQ(names->find({~std::uint64_t{0}}), (std::vector<Name>{{"last", "", 0}}));
  EXPECT_EQ(names->encode("abcd", "symtab"), bytes);
}

TEST(CachedNames, NoNameIsAnAnswerAndDiffersFromNoAnswer) {
  const auto names = some_names();
  EXPECT_EQ(names.find({0x3000}), std::vector<Name>());
  EXPECT_EQ(names.find({0x3001}), std::nullopt);
}

TEST(CachedNames, TheFirstAnswerStays) {
  auto names = some_names();
  names.add({0x2000}, {{"other", "", 0}});
  EXPECT_EQ(names.find({0x2000})->front().function, "outer");
}

TEST(CachedNames, WhatWasLoadedAndWhatIsAddedAreOne) {
  const auto whole = some_names().encode("abcd", "symtab");
  auto names = *CachedNames::decode(whole, "abcd", "symtab");
  names.add({0x2000}, {{"other", "", 0}});
  names.add({0x1800}, {{"between", "/src/b.cpp", 3}});
  EXPECT_EQ(names.size(), 5u);
  EXPECT_EQ(names.find({0x2000})->front().function, "outer");
  const auto again = CachedNames::decode(names.encode("abcd", "symtab"), "abcd", "symtab");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->size(), 5u);
  EXPECT_EQ(again->find({0x1800}), (std::vector<Name>{{"between", "/src/b.cpp", 3}}));
  EXPECT_EQ(again->find({0x3000}), std::vector<Name>());
}

TEST(CachedNames, NeighboursOfOneLineShareIt) {
  CachedNames names;
  const std::vector<Name> chain{{"inner", "/src/a.h", 7}, {"outer", "/src/a.cpp", 12}};
  for (std::uint64_t address = 0; address < 100; ++address) names.add({address}, chain);
  names.add({100}, {{"other", "/src/a.cpp", 1}});
  EXPECT_EQ(names.lines(), 3u);
  const auto loaded = CachedNames::decode(names.encode("abcd", "symtab"), "abcd", "symtab");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->lines(), 3u);
  for (std::uint64_t address = 0; address < 100; ++address) EXPECT_EQ(loaded->find({address}), chain);
}

TEST(CachedNames, OfAnotherModuleOrOtherSourcesAreNotTaken) {
  const auto bytes = some_names().encode("abcd", "symtab");
  EXPECT_FALSE(CachedNames::decode(bytes, "abce", "symtab"));
  EXPECT_FALSE(CachedNames::decode(bytes, "abcd", "dwarf"));
}

TEST(CachedNames, EveryPrefixAndEveryChangedByteIsRefused) {
  const auto bytes = some_names().encode("abcd", "symtab");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(CachedNames::decode(std::span(bytes).first(size), "abcd", "symtab")) << size;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= std::byte{0x10};
    EXPECT_FALSE(CachedNames::decode(changed, "abcd", "symtab")) << i;
  }
}

class CacheDirectoryTest : public ::testing::Test {
 protected:
  CacheDirectoryTest() {
    std::string name = ::testing::TempDir() + "fathom-cache-XXXXXX";
    root_ = ::mkdtemp(name.data());
    path_ = root_ + "/fathom/symbols";
  }
  ~CacheDirectoryTest() override { fs::remove_all(root_); }
  std::string root_, path_;
};

TEST_F(CacheDirectoryTest, KeepsNamesUnderTheIdentityOfTheModuleForItsOwnerOnly) {
  CacheDirectory cache(path_, 1 << 20);
  EXPECT_FALSE(cache.load("abcd", "dwarf"));
  cache.save("abcd", "dwarf", some_names());
  ASSERT_TRUE(cache.load("abcd", "dwarf"));
  EXPECT_EQ(cache.load("abcd", "dwarf")->find({0x2000})->front().line, 99u);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((path_ + "/abcd.names").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CacheDirectoryTest, ADamagedFileIsIgnoredAndRewritten) {
  CacheDirectory cache(path_, 1 << 20);
  ASSERT_TRUE(write_file(path_ + "/abcd.names", "fathmsym garbage"));
  EXPECT_FALSE(cache.load("abcd", "dwarf"));
  cache.save("abcd", "dwarf", some_names());
  EXPECT_TRUE(cache.load("abcd", "dwarf"));
}

TEST_F(CacheDirectoryTest, BeyondTheLimitWhatWasNotUsedForLongestGoes) {
  const auto size = some_names().encode("a", "dwarf").size();
  CacheDirectory cache(path_, 2 * size);
  for (const char* identity : {"a", "b"}) cache.save(identity, "dwarf", some_names());
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}}, before[2] = {{2000, 0}, {2000, 0}};
  ::utimensat(AT_FDCWD, (path_ + "/a.names").c_str(), long_ago, 0);
  ::utimensat(AT_FDCWD, (path_ + "/b.names").c_str(), before, 0);
  EXPECT_TRUE(cache.load("a", "dwarf"));  // used now, so b is the oldest
  cache.save("c", "dwarf", some_names());
  EXPECT_TRUE(cache.load("a", "dwarf"));
  EXPECT_FALSE(cache.load("b", "dwarf"));
  EXPECT_TRUE(cache.load("c", "dwarf"));
}

TEST_F(CacheDirectoryTest, AnIdentityIsNeverAPath) {
  CacheDirectory cache(path_, 1 << 20);
  for (const char* identity : {"../escape", "a/b", "", ".", "UPPER"}) {
    cache.save(identity, "dwarf", some_names());
    EXPECT_FALSE(cache.load(identity, "dwarf"));
  }
  EXPECT_TRUE(fs::is_empty(path_));
  EXPECT_FALSE(fs::exists(root_ + "/fathom/escape.names"));
}

TEST_F(CacheDirectoryTest, WithoutAFolderThatIsOursThereIsNoCache) {
  fs::create_directory(root_ + "/open");
  ASSERT_EQ(::chmod((root_ + "/open").c_str(), 0777), 0);
  fs::create_symlink(root_, root_ + "/link");
  for (const std::string& path :
       {std::string(), std::string("/proc/none/such"), root_ + "/open", root_ + "/link"}) {
    CacheDirectory cache(path, 1 << 20);
    cache.save("abcd", "dwarf", some_names());
    EXPECT_FALSE(cache.load("abcd", "dwarf")) << path;
  }
}

TEST_F(CacheDirectoryTest, TheReasonOfARejectionIsReported) {
  fs::create_symlink(root_, root_ + "/link");
  EXPECT_EQ(CacheDirectory(root_ + "/link", 1 << 20).refusal(),
            root_ + "/link: the folder is a symbolic link to " + root_);
  EXPECT_EQ(CacheDirectory(path_, 1 << 20).refusal(), "");
  EXPECT_FALSE(fs::exists(root_ + "/fathom")) << "nothing was kept in it";
}

TEST_F(CacheDirectoryTest, ALinkInPlaceOfAFileIsNeitherReadNorWrittenThrough) {
  CacheDirectory cache(path_, 1 << 20);
  cache.save("abcd", "dwarf", some_names());
  fs::rename(path_ + "/abcd.names", root_ + "/names");
  fs::create_symlink(root_ + "/names", path_ + "/abcd.names");
  EXPECT_FALSE(cache.load("abcd", "dwarf"));
  cache.save("abcd", "dwarf", CachedNames());
  EXPECT_TRUE(fs::is_symlink(path_ + "/abcd.names"));
  EXPECT_EQ(read_file(root_ + "/names").value().size(), some_names().encode("abcd", "dwarf").size());
}

TEST_F(CacheDirectoryTest, RootBelievesNoNamesOfAUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder of somebody else";
  ::setenv("SUDO_UID", "65534", 1);  // not even of the one who asked
  ::setenv("SUDO_GID", "65534", 1);
  fs::create_directories(path_);
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(CacheDirectory(path_, 1 << 20).refusal(),
            path_ + ": the folder belongs to user 65534, who could change the output");
  ::unsetenv("SUDO_UID");
  ::unsetenv("SUDO_GID");
}

TEST(DefaultCacheDirectory, FollowsTheEnvironment) {
  ::setenv("XDG_CACHE_HOME", "/x/cache", 1);
  EXPECT_EQ(default_cache_directory(), "/x/cache/fathom/symbols");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/user", 1);
  EXPECT_EQ(default_cache_directory(), "/home/user/.cache/fathom/symbols");
  ::unsetenv("HOME");
  EXPECT_EQ(default_cache_directory(), "");
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace fathom::symbolize
