#include "cli/mark_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "model/marks.h"

namespace fathom::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A recording that began at 100 s on its clock.
class Marking : public testing::Test {
 protected:
  Marking() { profile_.meta.start_ns = 100'000'000'000; }
  ~Marking() override { ::unlink(path_.c_str()); }
  void write(const std::string& text) { std::ofstream(path_, std::ios::app) << text << std::flush; }
  void look(MarkFile& marks, std::uint64_t second) { marks.look((100 + second) * 1'000'000'000, profile_); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const model::Phase& phase : model::phases_of(profile_)) names.push_back(phase.name);
    return names;
  }

  std::string path_ = testing::TempDir() + "marks_" + std::to_string(::getpid());
  model::Profile profile_;
};

TEST_F(Marking, ALineIsAMarkOfTheMomentAtWhichItIsSeen) {
  auto marks = MarkFile::open_file(path_).value();
  look(marks, 1);
  EXPECT_THAT(names(), IsEmpty());
  write("startup\n");
  look(marks, 2);
  write("lo");
  look(marks, 3);
  EXPECT_THAT(names(), ElementsAre("startup")) << "half a line";
  write("ad\n");
  look(marks, 4);
  ASSERT_THAT(names(), ElementsAre("startup", "load"));
  EXPECT_EQ(model::phases_of(profile_)[0].from_s, 2);
  EXPECT_EQ(model::phases_of(profile_)[1].from_s, 4);
}

TEST_F(Marking, WhatStoodInTheFileBeforeIsOfAnotherRecording) {
  write("yesterday\n");
  auto marks = MarkFile::open_file(path_).value();
  write("today\n");
  look(marks, 1);
  EXPECT_THAT(names(), ElementsAre("today"));
}

TEST_F(Marking, TheLastLineNeedsNoEnd) {
  auto marks = MarkFile::open_file(path_).value();
  look(marks, 1);
  write("the end");
  marks.finish(profile_);
  EXPECT_THAT(names(), ElementsAre("the end"));
}

TEST_F(Marking, APipeWithoutAWriterDoesNotBlock) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  auto marks = MarkFile::open_file(path_).value();
  look(marks, 1);
  write("through the pipe\n");
  look(marks, 2);
  EXPECT_THAT(names(), ElementsAre("through the pipe"));
}

TEST_F(Marking, HostileLinesAreCutCleanedAndCounted) {
  auto marks = MarkFile::open_file(path_).value();
  write("\x1b[31mred\n" + std::string(5000, 'x') + "\n\n\n");
  for (int i = 0; i < 3; ++i) look(marks, 1);
  ASSERT_THAT(names(), SizeIs(2)) << "empty lines are none";
  EXPECT_EQ(names()[0].find('\x1b'), std::string::npos);
  EXPECT_EQ(names()[1].size(), 100u);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "x\n";
  write(many);
  for (int i = 0; i < 3; ++i) look(marks, 2);
  EXPECT_THAT(names(), SizeIs(1000));
}

TEST_F(Marking, AFolderIsNoFile) {
  EXPECT_FALSE(MarkFile::open_file(testing::TempDir()));
}

}  // namespace
}  // namespace fathom::cli
