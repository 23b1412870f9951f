#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/mapping.h"

namespace fathom {
namespace {

TEST(Files, WrittenFileIsReadBackAndIsPrivate) {
  const std::string directory = testing::TempDir() + "fathom-files-test/a/b";
  const std::string path = directory + "/file";
  ASSERT_TRUE(write_file(path, "one"));
  ASSERT_TRUE(write_file(path, "two"));
  EXPECT_EQ(read_file(path).value(), "two");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(Mapping::of_file(path).value().size(), 3u);
}

TEST(Files, ErrorsNameThePathAndTheKind) {
  auto missing = read_file("/nonexistent/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(missing.error().message, "/nonexistent/file: No such file or directory");
  EXPECT_FALSE(Mapping::of_file("/proc/self"));
  EXPECT_FALSE(read_file("/proc/self/maps", 10));
}

TEST(SystemError, HasARemedyForLimitsAndForPathsThatLeadNowhere) {
  for (const int number :
       {ENOSPC, EDQUOT, EFBIG, EROFS, EMFILE, ELOOP, ENXIO, ENAMETOOLONG, ENOTDIR, EISDIR, EBADF})
    EXPECT_NE(system_error("x", number).value().remedy, "") << std::strerror(number);
}

}  // namespace
}  // namespace fathom
