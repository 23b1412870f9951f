#include "open/open_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analysis/core/hand_made_profile.h"
#include "store/writer.h"

namespace fathom::open {
namespace {

using testing::HasSubstr;

class OpenProfile : public testing::Test {
 protected:
  OpenProfile() { std::filesystem::create_directories(folder_); }
  ~OpenProfile() override { std::filesystem::remove_all(folder_); }
  std::string file(std::string_view content, const std::string& name = "x") {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string folder_ = testing::TempDir() + "fathom-input-" + std::to_string(::getpid());
};

TEST_F(OpenProfile, KnowsARecordingByItsContent) {
  const std::string path = folder_ + "/misleading.folded";
  const model::Profile profile = analysis::small_server();
  ASSERT_TRUE(store::Writer::create(path).value().finish(profile));
  const Result<model::Profile> read = open_profile(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->samples.size(), profile.samples.size());
}

TEST_F(OpenProfile, KnowsFoldedStacksAndNamesThemAfterTheFile) {
  const Result<model::Profile> read = open_profile(file("main;f 3\n", "stacks.txt"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->meta.target, "stacks.txt");
  EXPECT_EQ(read->meta.facts.at("format"), "folded");
}

TEST_F(OpenProfile, KnowsPerfScript) {
  const Result<model::Profile> read = open_profile(file("a 1 1.0: 5 cycles:\n\t1 f (m)\n\n"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->meta.facts.at("format"), "perf script");
}

TEST_F(OpenProfile, WhatItCannotReadItNamesWithTheWayOut) {
  const auto refusal = [&](std::string_view content) {
    const Result<model::Profile> read = open_profile(file(content));
    EXPECT_FALSE(read);
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
    return read.error().message + " | " + read.error().remedy;
  };
  EXPECT_THAT(refusal("PERFILE2........"),
              HasSubstr("binary perf.data, which is not read | perf script -F +pid -i "));
  EXPECT_THAT(refusal("\x1f\x8b\x08\x01"), HasSubstr("compressed with gzip, which is not read | zcat "));
  EXPECT_THAT(refusal("\x7f"
                      "ELF\x02"),
              HasSubstr("a program, which is not read | fathom record -- "));
  EXPECT_THAT(refusal("<svg></svg>"), HasSubstr("a picture"));
  EXPECT_THAT(refusal("{\"a\": 1}"), HasSubstr("JSON"));
  EXPECT_THAT(refusal(std::string_view("ab\0cd", 5)), HasSubstr("neither a recording nor text"));
  EXPECT_THAT(refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("hello world\n"), HasSubstr("line 1: no count at the end"));
}

TEST_F(OpenProfile, AMissingFileAndAFolderAreErrors) {
  EXPECT_EQ(open_profile(folder_ + "/nothing").error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(open_profile(folder_).error().message, HasSubstr("this is a folder"));
}

TEST_F(OpenProfile, EveryPrefixOfARecordingIsReadOrRefusedInOneLine) {
  const std::string path = folder_ + "/whole";
  ASSERT_TRUE(store::Writer::create(path).value().finish(analysis::small_server()));
  std::ifstream in(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t length = 0; length < content.size(); length += 7) {
    const Result<model::Profile> read = open_profile(file(content.substr(0, length)));
    if (!read) {
      EXPECT_EQ(read.error().message.find('\n'), std::string::npos) << length;
    }
  }
}

}  // namespace
}  // namespace fathom::open
