#include "attach/inject/trial/finding_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "binary/elf/module_file.h"

namespace fathom::inject {
namespace {

namespace fs = std::filesystem;
using allocators::nameless::Candidate;
using allocators::nameless::Findings;
using allocators::nameless::LibraryCode;

class FindingCacheTest : public ::testing::Test {
 protected:
  FindingCacheTest() {
    std::string name = ::testing::TempDir() + "fathom-findings-XXXXXX";
    root_ = ::mkdtemp(name.data());
    folder_ = root_ + "/allocators";
    searches_ = 0;
  }
  ~FindingCacheTest() override { fs::remove_all(root_); }

  // A library with one function at the beginning of the file; counts how often it was searched for.
  class Code : public LibraryCode {
   public:
    explicit Code(ElfAddress entry) : entry_(entry) {}
    std::vector<Candidate> candidates() override { return {{.address = entry_, .size = 4}}; }
    Result<WaysIn> ways_in(std::span<const ElfAddress> doors) override {
      WaysIn ways;
      for (const ElfAddress each : doors) ways.entries.push_back({.address = each, .size = 4});
      return ways;
    }

   private:
    ElfAddress entry_;
  };
  static Result<std::unique_ptr<LibraryCode>> search(const elf::ElfFile& file) {
    ++searches_;
    return std::make_unique<Code>(file.entry());
  }
  static Result<std::unique_ptr<LibraryCode>> refuse(const elf::ElfFile&) {
    ++searches_;
    return fail(ErrorKind::kUnsupported, "there is nothing to be known");
  }
  // As in a recording: first the candidates, then the paths to those that turned out to be entry points.
  void find(const elf::ElfFile& file, std::vector<ElfAddress> doors) {
    FindingCache cache(folder_, file, "mimalloc");
    auto code = RecalledCode::find(file, search, cache);
    ASSERT_TRUE(code);
    ASSERT_EQ(code->candidates().size(), 1u);
    EXPECT_EQ(code->candidates().front().address, file.entry());
    const auto ways = code->ways_in(doors);
    ASSERT_TRUE(ways);
    ASSERT_EQ(ways->entries.size(), doors.size());
    for (std::size_t i = 0; i < doors.size(); ++i) EXPECT_EQ(ways->entries[i].address, doors[i]);
  }
  std::string file_of_the_cache() const {
    for (const auto& each : fs::directory_iterator(folder_)) return each.path();
    return {};
  }

  std::string root_, folder_;
  static inline int searches_ = 0;
};

TEST_F(FindingCacheTest, AFileIsSearchedOnce) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const std::vector<ElfAddress> doors{file->elf().entry()};
  find(file->elf(), doors);
  EXPECT_EQ(searches_, 1);
  find(file->elf(), doors);
  find(file->elf(), doors);
  EXPECT_EQ(searches_, 1);
}

TEST_F(FindingCacheTest, OtherEntryPointsHaveOtherPaths) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const ElfAddress entry = file->elf().entry();
  find(file->elf(), {entry});
  find(file->elf(), {entry, {entry.value + 4}});
  EXPECT_EQ(searches_, 2);
}

TEST_F(FindingCacheTest, ARejectionIsCachedToo) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  for (int i = 0; i < 2; ++i) {
    FindingCache cache(folder_, file->elf(), "mimalloc");
    const auto code = RecalledCode::find(file->elf(), refuse, cache);
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().kind, ErrorKind::kUnsupported);
    EXPECT_EQ(code.error().message, "there is nothing to be known");
  }
  EXPECT_EQ(searches_, 1);
}

// A stripped copy has the build id of its unstripped twin.
TEST_F(FindingCacheTest, AFileWithTheSameIdentityButOneOtherByteIsSearched) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const auto bytes = file->elf().bytes();
  std::vector<std::byte> changed(bytes.begin(), bytes.end());
  const auto at = file->elf().offset_of(file->elf().entry());
  ASSERT_TRUE(at);
  changed[at->value] ^= std::byte{1};
  const auto other = elf::ElfFile::parse(changed, "other");
  ASSERT_TRUE(other);
  ASSERT_EQ(other->identity(), file->elf().identity());
  const std::vector<ElfAddress> doors{file->elf().entry()};
  find(file->elf(), doors);
  find(*other, doors);
  EXPECT_EQ(searches_, 2);
}

TEST_F(FindingCacheTest, DamagedCacheFilesAreIgnoredAndReplaced) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const std::vector<ElfAddress> doors{file->elf().entry()};
  find(file->elf(), doors);
  std::string content = read_file(file_of_the_cache()).value();
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  ASSERT_TRUE(write_file(file_of_the_cache(), content));
  find(file->elf(), doors);
  EXPECT_EQ(searches_, 2);
  find(file->elf(), doors);
  EXPECT_EQ(searches_, 2);
}

TEST_F(FindingCacheTest, WithoutAFolderEverySearchIsNew) {
  const auto file = elf::ModuleFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  folder_.clear();
  for (int i = 0; i < 2; ++i) find(file->elf(), {file->elf().entry()});
  EXPECT_EQ(searches_, 2);
}

}  // namespace
}  // namespace fathom::inject
