#include "present/page/redirect_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"

namespace fathom::page {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUrl = "http://127.0.0.1:40000/0123456789abcdef0123456789abcdef/";

TEST(RedirectPage, LeadsToTheAddressAndOnlyThisUserCanReadIt) {
  ::setenv("XDG_RUNTIME_DIR", testing::TempDir().c_str(), 1);
  fs::path folder;
  {
    const auto page = RedirectPage::write(kUrl);
    ASSERT_TRUE(page) << page.error().message;
    folder = fs::path(page->path()).parent_path();
    EXPECT_THAT(page->path(), testing::StartsWith(testing::TempDir()));
    EXPECT_THAT(page->path(), testing::Not(testing::HasSubstr("0123456789abcdef")));
    EXPECT_THAT(read_file(page->path()).value(),
                testing::HasSubstr("http-equiv=\"refresh\" content=\"0; url=" + std::string(kUrl) + "\""));
    struct stat status {};
    ASSERT_EQ(::stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700U);
    ASSERT_EQ(::stat(page->path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
  }
  EXPECT_FALSE(fs::exists(folder)) << "it is gone when the server ends";
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST(RedirectPage, AFolderWithoutASlashInFrontIsNotTaken) {
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  ::setenv("TMPDIR", testing::TempDir().c_str(), 1);
  const auto page = RedirectPage::write(kUrl);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->path(), testing::StartsWith(testing::TempDir()));
  ::unsetenv("XDG_RUNTIME_DIR");
  ::unsetenv("TMPDIR");
}

TEST(RedirectPage, AFolderThatCannotBeWrittenIsAnError) {
  ::setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
  EXPECT_FALSE(RedirectPage::write(kUrl));
  ::unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
}  // namespace fathom::page
