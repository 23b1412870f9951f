#include <gtest/gtest.h>

#include "model/profile.h"
#include "model/random_profile.h"

namespace fathom::model {
namespace {

ModuleId add_module(Builder& builder, ModuleKind kind, std::string_view name) {
  Module module;
  module.kind = kind;
  module.name = builder.string(name);
  return builder.module(module);
}

TEST(StringTable, SameTextIsTheSameRowAndRowsSurviveCopies) {
  StringTable table;
  EXPECT_EQ(table.intern(""), StringId{0});
  const StringId id = table.intern(std::string_view("a\0b", 3));
  EXPECT_EQ(table.intern(std::string_view("a\0b", 3)), id);
  EXPECT_NE(table.intern("a"), id);
  StringTable copy = table;
  table = StringTable();
  EXPECT_EQ(copy[id], std::string_view("a\0b", 3));
  EXPECT_EQ(copy.size(), 3u);
  EXPECT_EQ(table.size(), 1u);
}

TEST(Metric, NamesAreReadBackAsTheSameMetric) {
  for (int i = 0; i <= static_cast<int>(kLastMetric); ++i) {
    const auto metric = static_cast<Metric>(i);
    EXPECT_FALSE(to_string(metric).empty());
    EXPECT_EQ(metric_from(to_string(metric)), metric);
    EXPECT_FALSE(unit_of(metric).empty());
  }
  EXPECT_FALSE(metric_from("cycles of the moon"));
}

TEST(Builder, FindsWhatIsThereInsteadOfAddingItAgain) {
  Profile profile;
  Builder builder(profile);
  const ModuleId libc = add_module(builder, ModuleKind::kFile, "libc.so.6");
  EXPECT_EQ(add_module(builder, ModuleKind::kFile, "libc.so.6"), libc);
  EXPECT_NE(add_module(builder, ModuleKind::kNames, "libc.so.6"), libc);
  const FrameId frame = builder.frame(libc, {0x1234});
  EXPECT_EQ(builder.frame(libc, {0x1234}), frame);
  EXPECT_NE(builder.frame({0}, {0x1234}), frame);
  const StackId stack = builder.stack({0}, frame);
  EXPECT_EQ(stack, StackId{1});
  EXPECT_EQ(builder.stack({0}, frame), stack);
  EXPECT_NE(builder.stack(stack, frame), stack);
  EXPECT_TRUE(check(profile));
}

TEST(Builder, FrameIsNamedOnceInnermostFirst) {
  Profile profile;
  Builder builder(profile);
  const ModuleId module = add_module(builder, ModuleKind::kFile, "app");
  const FrameId frame = builder.frame(module, {0x10});
  EXPECT_EQ(profile.pseudo_name(profile.frames[frame.value]), "[app+0x10]");
  builder.name_frame(frame, {{"inlined", "a.h", 3}, {"caller", "a.cpp", 7}});
  builder.name_frame(frame, {{"too late", "", 0}});
  const Frame& row = profile.frames[frame.value];
  ASSERT_EQ(row.line_count, 2u);
  const Line& innermost = profile.lines[row.first_line];
  EXPECT_EQ(profile.strings[profile.functions[innermost.function.value].name], "inlined");
  EXPECT_EQ(profile.strings[innermost.file], "a.h");
  EXPECT_EQ(innermost.line, 3u);
  EXPECT_EQ(profile.functions.size(), 2u);
}

TEST(Builder, NamedFramesOfOneModuleAreToldApartByName) {
  Profile profile;
  Builder builder(profile);
  const ModuleId module = add_module(builder, ModuleKind::kNames, "");
  const FrameId main = builder.named_frame("main", module);
  EXPECT_NE(builder.named_frame("exit", module), main);
  EXPECT_EQ(builder.named_frame("main", module), main);
  const FrameId line_7 = builder.frame_with_lines(module, {}, {{"main", "a.c", 7}});
  const FrameId line_8 = builder.frame_with_lines(module, {}, {{"main", "a.c", 8}});
  EXPECT_NE(line_7, line_8);
  EXPECT_NE(line_7, main);
  EXPECT_EQ(builder.frame_with_lines(module, {}, {{"main", "a.c", 7}}), line_7);
  EXPECT_EQ(builder.frame_with_lines(module, {}, {{"main", "", 0}}), main);
}

TEST(Builder, OfAProfileThatIsThereAlreadyFindsAllItsRows) {
  for_each_profile(100, [](const Profile& original) {
    Profile profile = original;
    Builder builder(profile);
    for (std::uint32_t i = 0; i < original.modules.size(); ++i)
      EXPECT_EQ(builder.module(original.modules[i]), ModuleId{i});
    for (std::uint32_t i = 1; i < original.stacks.size(); ++i)
      EXPECT_EQ(builder.stack(original.stacks[i].parent, original.stacks[i].frame), StackId{i});
    for (std::uint32_t i = 0; i < original.frames.size(); ++i) {
      const Frame& frame = original.frames[i];
      if (frame.address.value != 0) {
        EXPECT_EQ(builder.frame(frame.module, frame.address), FrameId{i});
      } else {
        const Line& line = original.lines[frame.first_line];
        const auto name = original.strings[original.functions[line.function.value].name];
        EXPECT_EQ(builder.named_frame(name, frame.module), FrameId{i});
      }
    }
    EXPECT_EQ(profile, original);
  });
}

}  // namespace
}  // namespace fathom::model
