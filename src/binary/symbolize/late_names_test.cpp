#include "binary/symbolize/late_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/module_symbols.h"
#include "binary/symbolize/testing_fixtures.h"

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

// A recording of dwarf5.stripped, of which `store::fill` was named by its bounds as it was recorded.
class Stripped : public testing::Test {
 protected:
  Stripped() {
    const auto whole = elf::ModuleFile::open(fixture("dwarf5"));
    model::Builder builder(profile);
    model::Module row;
    row.kind = model::ModuleKind::kFile;
    row.name = builder.string("dwarf5.stripped");
    row.path = builder.string("/elsewhere/dwarf5.stripped");
    row.build_id = builder.string(whole->elf().identity());
    row.symbols = model::SymbolSource::kPseudo;
    module = builder.module(row);
    for (const auto& symbol : whole->elf().symbols(elf::SymbolTable::kSymtab))
      if (symbol.name == "_ZN5store4fillERNS_6BucketEj") frame = builder.frame(module, symbol.address);
    builder.name_frame(frame, {{"dwarf5.stripped@fde+0x1000", "", 0}});
    folder = ::testing::TempDir() + "late_names_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder + "/deep/er");
    options = no_debug_directories();
    options.symbol_directory = folder;
  }
  ~Stripped() override { std::filesystem::remove_all(folder); }
  void put(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(fixture(from), folder + "/" + to);
  }
  const model::Line& outermost() const {
    const model::Frame& row = profile.frames[frame.value];
    return profile.lines[row.first_line + row.line_count - 1];
  }
  std::string name() const {
    return std::string(profile.strings[profile.functions[outermost().function.value].name]);
  }

  model::Profile profile;
  model::ModuleId module;
  model::FrameId frame;
  std::string folder;
  Options options;
};

TEST_F(Stripped, GetsNamesAndLinesFromADebugFileOrATwinOfItsBuildId) {
  for (const char* file : {"dwarf5.debug", "dwarf5"}) {
    model::Profile before = profile;
    put(file, "deep/er/any name");
    const auto found = name_from_folder(profile, options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->used, std::vector<std::string>{folder + "/deep/er/any name"});
    EXPECT_EQ(name(), "store::fill(store::Bucket&, unsigned int)") << file;
    EXPECT_NE(outermost().line, 0u);
    EXPECT_EQ(profile.modules[module.value].symbols, model::SymbolSource::kDwarf);
    EXPECT_TRUE(model::check(profile));
    profile = std::move(before);
    std::filesystem::remove(folder + "/deep/er/any name");
  }
}

TEST_F(Stripped, GetsTheSameNamesFromAnotherProcess) {
  put("dwarf5.debug", "dwarf5.debug");
  options.reader.program = FATHOM_NAME_READER;
  ASSERT_TRUE(name_from_folder(profile, options));
  EXPECT_EQ(name(), "store::fill(store::Bucket&, unsigned int)");
}

TEST_F(Stripped, RefusesAFileOfAnotherBuildIdInWords) {
  put("dwarf4", "dwarf5.stripped");
  put("no_build_id", "dwarf5.stripped.debug");
  put("dwarf5.stripped", "it has no names");
  const auto found = name_from_folder(profile, options);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->used.empty());
  ASSERT_EQ(found->refused.size(), 2u);
  EXPECT_THAT(found->refused[0],
              testing::StartsWith(folder + "/dwarf5.stripped is not used: its build id is "));
  EXPECT_THAT(
      found->refused[1],
      testing::StartsWith(folder + "/dwarf5.stripped.debug is not used: it has no build id, and that of "));
  EXPECT_EQ(name(), "dwarf5.stripped@fde+0x1000");
}

// A recording of no_build_id.stripped, as a recorder writes it: the names of its functions hold hashes of their code.
class WithoutBuildId : public Stripped {
 protected:
  WithoutBuildId() {
    profile = {};
    model::Builder builder(profile);
    const std::string path = fixture("no_build_id.stripped");
    const auto file = elf::ModuleFile::open(path);
    model::Module row;
    row.kind = model::ModuleKind::kFile;
    row.name = builder.string("server");
    row.path = builder.string("/elsewhere/server");
    row.build_id = builder.string(file->elf().identity());
    row.symbols = model::SymbolSource::kPseudo;
    module = builder.module(row);
    DebugFiles debug_files(no_debug_directories());
    const auto symbols = ModuleSymbols::open(source_of(path), no_debug_directories(), debug_files);
    const auto whole = elf::ModuleFile::open(fixture("no_build_id"));
    for (const auto& symbol : whole->elf().symbols(elf::SymbolTable::kSymtab)) {
      const auto names = symbols->resolve(std::array{symbol.address});
      if (names.empty() || names[0].empty()) continue;
      const auto id = builder.frame(module, symbol.address);
      builder.name_frame(id, {{names[0].back().function, "", 0}});
      if (symbol.name == "_ZN5store4fillERNS_6BucketEj") frame = id;
    }
  }
};

TEST_F(WithoutBuildId, GetsNamesFromATwinOfTheSameCode) {
  ASSERT_THAT(name(), testing::MatchesRegex(".*@fde\\+0x[0-9a-f]+#[0-9a-f]+"));
  const model::Profile before = profile;
  put("no_build_id", "server");
  const auto found = name_from_folder(profile, options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->refused, testing::IsEmpty());
  EXPECT_EQ(name(), "store::fill(store::Bucket&, unsigned int)");
  // The file itself may be called anything.
  profile = before;
  put("no_build_id", "twin");
  options.symbol_directory = folder + "/twin";
  ASSERT_TRUE(name_from_folder(profile, options));
  EXPECT_EQ(name(), "store::fill(store::Bucket&, unsigned int)");
}

TEST_F(WithoutBuildId, RefusesATwinOfOtherCodeWithTheReason) {
  const std::string was = name();
  // The same program with one instruction changed in one of the functions.
  std::string bytes = read_file(fixture("no_build_id")).value();
  const auto whole = elf::ModuleFile::open(fixture("no_build_id"));
  const auto place = whole->elf().offset_of(profile.frames[frame.value].address);
  bytes[place->value] = static_cast<char>(bytes[place->value] == '\x90' ? '\xf8' : '\x90');
  std::ofstream(folder + "/server", std::ios::binary) << bytes;
  auto found = name_from_folder(profile, options);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->refused.size(), 1u);
  EXPECT_THAT(found->refused[0],
              testing::HasSubstr("recorded functions have other code in it, such as the one at 0x"));
  EXPECT_EQ(name(), was);
  // A debug file by itself has no code.
  std::filesystem::remove(folder + "/server");
  put("no_build_id.debug", "server.debug");
  found = name_from_folder(profile, options);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->refused.size(), 1u);
  EXPECT_EQ(name(), was);
}

TEST_F(Stripped, KeepsBetterNamesThanAFolderHas) {
  put("dwarf5.debug", "dwarf5.debug");
  profile.modules[module.value].symbols = model::SymbolSource::kDwarf;
  const auto found = name_from_folder(profile, options);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->used.empty());
  EXPECT_EQ(name(), "dwarf5.stripped@fde+0x1000");
}

TEST_F(Stripped, AFolderThatIsNotThereIsAnError) {
  options.symbol_directory = folder + "/nowhere";
  EXPECT_EQ(name_from_folder(profile, options).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::symbolize
