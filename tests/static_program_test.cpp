// The static program (make static): its documented properties hold, and it needs nothing of the system.
#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "base/files.h"
#include "binary/elf/module_file.h"
#include "model/store/block.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kMegabyte = 1e6;

class StaticProgram : public testing::Test {
 protected:
  StaticProgram() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fathom-static-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for temporary files");
    folder_ = pattern;
  }
  ~StaticProgram() override { std::filesystem::remove_all(folder_); }

  static elf::ModuleFile open(const std::string& path) {
    auto file = elf::ModuleFile::open(path);
    if (!file) throw std::runtime_error(file.error().message);
    return std::move(*file);
  }
  static double megabytes(const std::string& path) {
    return static_cast<double>(std::filesystem::file_size(path)) / kMegabyte;
  }
  static std::string readme() { return read_file("../README.md").value(); }

  std::string folder_;
};

// The first group of the expression; "" where the text has nothing of the kind.
std::string found(const std::string& text, const std::string& expression) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(expression)) ? match[1].str() : "";
}

TEST_F(StaticProgram, NeedsNoLoaderAndNoLibrary) {
  const auto file = open(STATIC_FATHOM);
  EXPECT_THAT(file.elf().needed(), IsEmpty());
  EXPECT_EQ(file.elf().interpreter(), "");
  EXPECT_EQ(file.elf().section(".debug_info"), nullptr) << "it is stripped";
  EXPECT_LT(file.elf().symbols(elf::SymbolTable::kSymtab).size(), 3000U) << "but for the names of the tour";
}

// It records itself: names and an allocator have to be found in a stripped file.
TEST_F(StaticProgram, GivesTheTour) {
  FATHOM_NEEDS_PERF_EVENT();
  const Outcome outcome = run({STATIC_FATHOM, "tour"}, {.environment = {"TMPDIR=" + folder_, "COLUMNS=100"},
                                                        .limit = std::chrono::seconds(120)});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_THAT(outcome.output, HasSubstr("shop::parse_request accounts for"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("#0 +shop::remember_session"));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("have no name")));
}

TEST_F(StaticProgram, LiesAtRandomAddressesAndNothingIsWritableAndExecutable) {
  const auto file = open(STATIC_FATHOM);
  EXPECT_EQ(file.elf().type(), ET_DYN);
  ASSERT_NE(file.elf().segment(PT_GNU_RELRO), nullptr);
  ASSERT_NE(file.elf().segment(PT_GNU_STACK), nullptr);
  EXPECT_EQ(file.elf().segment(PT_GNU_STACK)->flags & PF_X, 0u);
  for (const elf::Segment& segment : file.elf().segments())
    EXPECT_FALSE(segment.type == PT_LOAD && (segment.flags & PF_W) != 0 && (segment.flags & PF_X) != 0);
}

TEST_F(StaticProgram, NamesNoFolderOfTheMachineThatBuiltIt) {
  const std::string bytes = read_file(STATIC_FATHOM).value();
  EXPECT_EQ(bytes.find(FATHOM_SOURCE_FOLDER "/src/"), bytes.npos);
  EXPECT_EQ(bytes.find(FATHOM_SOURCE_FOLDER "/build/"), bytes.npos);
}

TEST_F(StaticProgram, RunsInARootThatHasNothingElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to change the root";
  std::filesystem::copy_file(STATIC_FATHOM, folder_ + "/fathom");
  std::ofstream(folder_ + "/a.folded") << "server;main;parse 30\nserver;main;write_all 70\n";
  const Outcome report = run({"chroot", folder_, "/fathom", "report", "/a.folded"});
  EXPECT_TRUE(report.ok()) << report.describe();
  EXPECT_THAT(report.output, HasSubstr("write_all"));
  const Outcome picture = run({"chroot", folder_, "/fathom", "flamegraph", "/a.folded", "-o", "-"});
  EXPECT_THAT(picture.output, HasSubstr("write_all")) << picture.describe();
}

TEST_F(StaticProgram, ItsDebugFileLiesNextToItWithTheSameBuildId) {
  const auto program = open(STATIC_FATHOM), debug = open(std::string(STATIC_FATHOM) + ".debug");
  EXPECT_NE(program.elf().build_id(), "");
  EXPECT_EQ(program.elf().build_id(), debug.elf().build_id());
  ASSERT_TRUE(program.elf().debug_link());
  EXPECT_EQ(program.elf().debug_link()->file, "fathom.debug");
}

TEST_F(StaticProgram, ProfilesItselfWithNames) {
  std::ofstream folded(folder_ + "/large.folded");
  for (int i = 0; i < 40'000; ++i) folded << "server;main;f" << i % 1000 << ";g" << i << " 1\n";
  folded.close();
  const std::string recording = folder_ + "/own.fathom";
  const Outcome record = run(
      {STATIC_FATHOM, "record", "-o", recording, "--", STATIC_FATHOM, "report", folder_ + "/large.folded"});
  ASSERT_TRUE(record.ok()) << record.describe();
  const Outcome report = run({STATIC_FATHOM, "report", recording, "--json"});
  ASSERT_TRUE(report.ok()) << report.describe();
  EXPECT_THAT(report.output, HasSubstr("fathom::formats::"));
}

TEST_F(StaticProgram, VersionSaysItsSizeAndThatItNeedsNoLibrary) {
  const std::string version = run({STATIC_FATHOM, "--version"}).output;
  EXPECT_NEAR(std::strtod(found(version, "program: ([0-9.]+) MB").c_str(), nullptr), megabytes(STATIC_FATHOM),
              0.051);
  EXPECT_THAT(version, HasSubstr("needs no shared library"));
}

TEST_F(StaticProgram, VersionOfTheOtherProgramListsItsLibraries) {
  const std::string program = fathom_command({}).front();
  const std::string version = run({program, "--version"}).output;
  EXPECT_NEAR(std::strtod(found(version, "program: ([0-9.]+) MB").c_str(), nullptr), megabytes(program),
              0.051);
  const auto file = open(program);
  for (const std::string& library : file.elf().needed()) EXPECT_THAT(version, HasSubstr(" " + library));
}

TEST_F(StaticProgram, TheReadmeHasItsSize) {
  const std::string told = found(readme(), "one static file of ([0-9]+) MB");
  ASSERT_NE(told, "") << "the README says the size in these words";
  EXPECT_NEAR(std::strtod(told.c_str(), nullptr), megabytes(STATIC_FATHOM), 0.6);
}

TEST_F(StaticProgram, TheReadmeHasTheFormatThatItWrites) {
  EXPECT_EQ(found(readme(), "recordings of format ([0-9]+\\.[0-9]+)"),
            std::to_string(store::kMajor) + "." + std::to_string(store::kMinor));
}

TEST_F(StaticProgram, TheReadmeNamesTheLibrariesOfAProgramThatIsBuiltAndInstalled) {
  const auto file = open(fathom_command({}).front());
  for (const std::string& library : file.elf().needed()) {
    const std::string name = library.substr(0, library.find(".so"));
    if (name == "libc" || name == "libm" || name == "libgcc_s" || name == "libstdc++" ||
        name.starts_with("ld-linux"))
      continue;
    EXPECT_THAT(readme(), HasSubstr(name));
  }
}

TEST_F(StaticProgram, TheReadmeBeginsWithHowToInstall) {
  const std::string text = readme();
  EXPECT_LT(text.find("## Install"), 800u);
  EXPECT_LT(text.find("## Install"), text.find("make "));
}

}  // namespace
}  // namespace fathom::support
