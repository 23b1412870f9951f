#include "cli/preset_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fathom::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kText = R"(# what we use
[record]
api = "--unit api.service -d 60"   # a minute
quoted = "--name \"my server\" --marks C:\\x"

[ report ]
crates='--by crate "x'
)";

TEST(PresetFile, HoldsOptionsByCommandAndName) {
  const Presets presets = parse_presets(kText, "f").value();
  EXPECT_EQ(presets.size(), 3u);
  EXPECT_EQ(presets.at({"record", "api"}), "--unit api.service -d 60");
  EXPECT_EQ(presets.at({"record", "quoted"}), "--name \"my server\" --marks C:\\x");
  EXPECT_EQ(presets.at({"report", "crates"}), "--by crate \"x");
  EXPECT_TRUE(parse_presets("", "f").value().empty());
  EXPECT_TRUE(parse_presets("\r\n  # nothing\r\n", "f").value().empty());
}

TEST(PresetFile, WhatIsNoPresetIsRefusedWithItsLine) {
  for (const char* line :
       {"api = -d 60", "api", "api = \"-d 60", "api = \"-d 60\" x", "api = \"\\n\"", "a b = \"\"", "= \"\"",
        "[record", "[]", "[a b]", "[record] x", "[a.b]", "api = ", "api = \"-d 1\"\napi = \"-d 2\""}) {
    const auto read = parse_presets(std::string("[record]\n") + line, "f");
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().kind, ErrorKind::kMalformed);
    EXPECT_THAT(read.error().message, testing::MatchesRegex("f: line [23]: .*")) << line;
  }
  EXPECT_THAT(parse_presets("api = \"-d 60\"", "f").error().message, HasSubstr("below a command"));
}

TEST(PresetFile, EveryCutTextIsReadOrRefused) {
  const std::string text = kText;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto read = parse_presets(text.substr(0, size), "f");
    EXPECT_TRUE(read ? read->size() <= 3 : read.error().kind == ErrorKind::kMalformed) << size;
  }
}

class PresetFolder : public testing::Test {
 protected:
  PresetFolder() { std::filesystem::create_directories(folder_ + "/a/b"); }
  ~PresetFolder() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& folder, const std::string& text) const {
    const std::string path = folder + "/" + std::string(kPresetFile);
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0644);
    return path;
  }
  const std::string folder_ = testing::TempDir() + "presets_" + std::to_string(::getpid());
};

TEST_F(PresetFolder, TheNearestFileAboveIsRead) {
  const std::string above = write(folder_, "[record]\nx = \"-d 1\"\n");
  EXPECT_EQ(find_presets(folder_ + "/a/b").value()->path, above);
  const std::string near = write(folder_ + "/a", "[record]\nx = \"-d 2\"\n");
  const auto found = find_presets(folder_ + "/a/b").value();
  EXPECT_EQ(found->path, near);
  EXPECT_EQ(found->presets.at({"record", "x"}), "-d 2");
}

TEST_F(PresetFolder, AFileThatOthersCanWriteIsRefused) {
  const std::string path = write(folder_, "[record]\nx = \"-d 1\"\n");
  ::chmod(path.c_str(), 0666);
  const auto found = find_presets(folder_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kPermission);
  EXPECT_THAT(found.error().message, HasSubstr("other users can write"));
  ::chmod(path.c_str(), 0644);
  EXPECT_TRUE(find_presets(folder_).value().has_value());
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(find_presets(folder_)) << "it belongs to another user";
  }
}

TEST_F(PresetFolder, APipeIsNoPresetFile) {
  const std::string path = folder_ + "/" + std::string(kPresetFile);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(find_presets(folder_));
}

}  // namespace
}  // namespace fathom::cli
