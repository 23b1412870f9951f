#include "symbolize/late_names.h"

#include <gtest/gtest.h>

#include "elf/module_file.h"

namespace fathom::symbolize {
namespace {

extern "C" __attribute__((noinline, used)) int late_names_test_marker(int x) {
  return x * 7 + 1;
}

// A recording of this test program in which nothing was resolved.
struct Unresolved {
  explicit Unresolved(std::string identity) {
    model::Builder builder(profile);
    model::Module row;
    row.kind = model::ModuleKind::kFile;
    row.name = builder.string("test");
    row.path = builder.string("/proc/self/exe");
    row.build_id = builder.string(identity);
    const auto module = builder.module(row);
    const auto file = elf::ModuleFile::open("/proc/self/exe");
    for (const auto& symbol : file->elf().symbols(elf::SymbolTable::kSymtab)) {
      if (symbol.name == "late_names_test_marker") frame = builder.frame(module, symbol.address);
    }
  }
  model::Profile profile;
  model::FrameId frame;
};

std::string own_identity() {
  return elf::ModuleFile::open("/proc/self/exe")->elf().identity();
}

TEST(LateNames, FrameWithoutNameIsNamedFromTheFileThatWasRecorded) {
  Unresolved recording(own_identity());
  ASSERT_EQ(recording.profile.frames.size(), 1u);
  EXPECT_EQ(name_unnamed_frames(recording.profile, {}), 1u);
  const model::Frame& frame = recording.profile.frames[recording.frame.value];
  ASSERT_GE(frame.line_count, 1u);
  const auto& line = recording.profile.lines[frame.first_line + frame.line_count - 1];
  EXPECT_EQ(recording.profile.strings[recording.profile.functions[line.function.value].name],
            "late_names_test_marker");
  EXPECT_NE(recording.profile.modules[1].symbols, model::SymbolSource::kNone);
  EXPECT_EQ(name_unnamed_frames(recording.profile, {}), 0u);
}

TEST(LateNames, AnotherVersionOfTheFileIsNotBelieved) {
  Unresolved recording("0123456789abcdef");
  EXPECT_EQ(name_unnamed_frames(recording.profile, {}), 0u);
  EXPECT_EQ(recording.profile.frames[recording.frame.value].line_count, 0u);
}

}  // namespace
}  // namespace fathom::symbolize
