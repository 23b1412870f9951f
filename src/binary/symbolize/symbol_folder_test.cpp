#include "binary/symbolize/symbol_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "binary/elf/module_file.h"
#include "binary/symbolize/testing_fixtures.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// While it lives, this thread opens files as a user who owns none: root may read every folder.
class AsNobody {
 public:
  AsNobody() : before_(::geteuid() == 0 ? ::setfsuid(65534) : -1) {}
  ~AsNobody() {
    if (before_ >= 0) ::setfsuid(static_cast<uid_t>(before_));
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  int before_;
};

class SymbolFolderTest : public testing::Test {
 protected:
  SymbolFolderTest() : folder_(testing::TempDir() + "symbol_folder_" + std::to_string(::getpid())) {
    fs::create_directories(folder_);
    fs::permissions(folder_, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
  }
  ~SymbolFolderTest() override {
    for (const std::string& path : closed_) fs::permissions(path, fs::perms::owner_all);
    fs::remove_all(folder_);
  }
  std::string put(const std::string& from, const std::string& to) {
    const std::string path = folder_ + "/" + to;
    fs::create_directories(fs::path(path).parent_path());
    fs::copy_file(fixture(from), path);
    return path;
  }
  void close(const std::string& path) {
    fs::permissions(path, fs::perms::none);
    closed_.push_back(path);
  }
  static std::vector<std::string> paths(const std::vector<const SymbolFile*>& files) {
    std::vector<std::string> paths;
    for (const SymbolFile* file : files) paths.push_back(file->path);
    return paths;
  }

  std::string folder_;
  std::vector<std::string> closed_;
};

TEST_F(SymbolFolderTest, FindsFilesByBuildIdAndByNameInTheOrderOfTheirPaths) {
  const std::string second = put("dwarf5", "b/server"), first = put("dwarf5.debug", "a/server.debug");
  put("dwarf4", "a/other");
  put("dwarf5.stripped", "c/server");  // has no names
  const auto folder = SymbolFolder::scan(folder_);
  ASSERT_TRUE(folder) << folder.error().message;
  const std::string build_id = elf::ModuleFile::open(fixture("dwarf5"))->elf().build_id();
  EXPECT_THAT(paths(folder->of(build_id)), ElementsAre(first, second));
  EXPECT_THAT(paths(folder->called("server")), ElementsAre(first, second));
  EXPECT_THAT(paths(folder->called("nothing")), IsEmpty());
  EXPECT_THAT(folder->of(""), IsEmpty());
  EXPECT_THAT(folder->gaps(), IsEmpty());
}

TEST_F(SymbolFolderTest, AFolderThatIsTooLargeIsReadInPartAndThatIsReported) {
  const std::string near = put("dwarf5", "z");
  for (int i = 0; i < 20; ++i) fs::create_directories(folder_ + "/a/" + std::to_string(i));
  const auto folder = SymbolFolder::scan(folder_, 10);
  ASSERT_TRUE(folder);
  EXPECT_THAT(paths(folder->called("z")), ElementsAre(near))
      << "near files come before those of folders below";
  EXPECT_THAT(folder->gaps(), ElementsAre(HasSubstr("more than 10 files and folders")));
  EXPECT_THAT(SymbolFolder::scan(folder_, 22)->gaps(), IsEmpty()) << "z, a, and twenty below";
}

TEST_F(SymbolFolderTest, AFolderThatMayNotBeReadIsAnErrorAndNoEmptyFolder) {
  close(folder_);
  const AsNobody nobody;
  const auto folder = SymbolFolder::scan(folder_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, ErrorKind::kPermission);
  EXPECT_THAT(folder.error().message, HasSubstr(folder_ + ": "));
}

TEST_F(SymbolFolderTest, ClosedFoldersBelowAreCountedAndOneIsNamed) {
  put("dwarf5", "open/server");
  for (const char* name : {"/closed", "/private"}) {
    fs::create_directories(folder_ + name);
    close(folder_ + name);
  }
  const AsNobody nobody;
  const auto folder = SymbolFolder::scan(folder_);
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ(folder->called("server").size(), 1u);
  EXPECT_THAT(folder->gaps(), ElementsAre(testing::AllOf(HasSubstr("2 of the folders below"),
                                                         HasSubstr("cannot be read, such as "))));
}

TEST_F(SymbolFolderTest, AFileIsItsOwnOnlyOne) {
  const auto folder = SymbolFolder::scan(put("dwarf5", "file"));
  ASSERT_TRUE(folder);
  const std::string id = elf::ModuleFile::open(fixture("dwarf5"))->elf().build_id();
  ASSERT_EQ(folder->of(id).size(), 1u);
  EXPECT_EQ(folder->refusal({"aa", id}), "");
  EXPECT_THAT(folder->refusal({"aa"}), HasSubstr("file is not used: its build id is " + id));
}

TEST_F(SymbolFolderTest, AFileWithoutNamesIsReported) {
  const std::string text = put("dwarf5", "text");
  std::ofstream(text, std::ios::trunc) << "no program";
  const auto folder = SymbolFolder::scan(text);
  ASSERT_TRUE(folder);
  ASSERT_EQ(folder->gaps().size(), 1u);
  EXPECT_THAT(folder->gaps()[0], HasSubstr("it is not an ELF file that can be read"));
  EXPECT_EQ(SymbolFolder::scan(text + ".none").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::symbolize
