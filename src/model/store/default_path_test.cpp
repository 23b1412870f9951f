#include "model/store/default_path.h"

#include <gtest/gtest.h>

namespace fathom::store {
namespace {

// 2026-03-01 12:30:05.250 UTC
constexpr std::uint64_t kTime = 1'772'368'205'250'000'000;

TEST(DefaultPath, ContainsProgramAndTime) {
  const std::string end = "/2026-03-01T12-30-05.250Z.fathom";
  EXPECT_EQ(default_path("redis-server (pid 12)", kTime), "fathom-profiles/redis-server" + end);
  EXPECT_EQ(default_path("/usr/lib/cc1plus", kTime), "fathom-profiles/cc1plus" + end);
  EXPECT_EQ(default_path("web (container of docker, ab1)", kTime), "fathom-profiles/web" + end);
}

TEST(DefaultPath, StaysInItsFolderForAnyNameOfTheTarget) {
  const auto folder = [](std::string_view target) {
    const std::string path = default_path(target, kTime);
    const auto start = path.find('/') + 1;
    return path.substr(start, path.find('/', start) - start);
  };
  EXPECT_EQ(folder(""), "recording");
  EXPECT_EQ(folder("/home/a/my projects/server"), "server");
  EXPECT_EQ(folder("./my server"), "my-server");
  EXPECT_EQ(folder("a b/../c"), "c");
  EXPECT_EQ(folder(".."), "recording");
  EXPECT_EQ(folder("../../etc/"), "etc");
  EXPECT_EQ(folder("--help"), "help");
  EXPECT_EQ(folder(".hidden"), "hidden");
  EXPECT_EQ(folder("a$(reboot)\n;b"), "a-reboot-b");
  EXPECT_EQ(folder("\xc3\xa4"), "recording");
  EXPECT_EQ(folder(std::string(500, 'x')).size(), 64u);
}

}  // namespace
}  // namespace fathom::store
