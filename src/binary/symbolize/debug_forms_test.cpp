// One program, its debug information in every form that compilers and distributions give it (testing/forms.sh): each form has
// to give the names, inlined calls, files and lines that the program gives which has everything in itself.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/local_names.h"
#include "binary/symbolize/testing_fixtures.h"

namespace fathom::symbolize {
namespace {

namespace fs = std::filesystem;

struct Form {
  const char* name;
  const char* twin;  // "gcc-5"
};

std::string twin_of(const Form& form) {
  return fixture(std::string("forms/") + form.twin);
}
std::string folder_of(const Form& form) {
  return fixture(std::string("forms/") + form.twin + "." + form.name);
}

// The line of missing.txt about the form; "" if the tools of this machine could make it.
std::string why_missing(const Form& form) {
  std::ifstream lines(fixture("forms/missing.txt"));
  const std::string start = std::string(form.twin) + "." + form.name + ":";
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(start)) return line;
  return {};
}

std::vector<ElfAddress> all_code_of(const std::string& twin) {
  const auto file = elf::ModuleFile::open(twin);
  EXPECT_TRUE(file) << twin;
  std::vector<ElfAddress> addresses;
  if (!file) return addresses;
  for (const auto& symbol : file->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF)
      for (std::uint64_t offset = 0; offset < symbol.size; ++offset)
        addresses.push_back({symbol.address.value + offset});
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

std::string text_of(const std::vector<Name>& names) {
  std::string text;
  for (const Name& name : names)
    text += name.function + " " + name.file + ":" + std::to_string(name.line) + "\n";
  return text;
}

Options options_of(const Form& form, bool apart) {
  Options options = no_debug_directories();
  if (std::string(form.name) == "build-id") options.debug_directories = {folder_of(form) + "/debug"};
  if (apart) options.reader.program = FATHOM_NAME_READER;
  return options;
}

std::vector<Form> forms(std::initializer_list<const char*> names) {
  std::vector<Form> all;
  for (const char* twin : {"gcc-4", "gcc-5", "clang-4", "clang-5"})
    for (const char* name : names) all.push_back({name, twin});
  return all;
}

std::string test_name(const ::testing::TestParamInfo<Form>& info) {
  std::string name = std::string(info.param.twin) + "_" + info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class DebugForm : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    const std::string reason = why_missing(GetParam());
    if (!reason.empty()) GTEST_SKIP() << "form not made: " << reason;
  }
};

TEST_P(DebugForm, GivesTheNamesThatTheWholeProgramGives) {
  const Form& form = GetParam();
  const auto addresses = all_code_of(twin_of(form));
  ASSERT_GT(addresses.size(), 200u);
  const auto expected =
      ModuleSymbols::open({.path = twin_of(form)}, no_debug_directories())->resolve(addresses);
  const ModuleSource source = source_of(folder_of(form) + "/program");
  for (const bool apart : {false, true}) {  // in this process, and by the one without rights
    LocalNames reader(options_of(form, apart));
    const auto symbols = reader.open(source, 1);
    EXPECT_EQ(symbols->source(), model::SymbolSource::kDwarf);
    const auto names = symbols->resolve(addresses);
    EXPECT_EQ(symbols->problem(), "");
    ASSERT_EQ(names.size(), expected.size());
    std::size_t inlined = 0, different = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      inlined += names[i].size() > 1 ? 1 : 0;
      if (names[i] != expected[i] && ++different < 4)
        ADD_FAILURE() << std::hex << addresses[i].value << " apart " << apart << "\nthis form:\n"
                      << text_of(names[i]) << "whole program:\n"
                      << text_of(expected[i]);
    }
    EXPECT_EQ(different, 0u);
    EXPECT_GT(inlined, 100u);
  }
}

INSTANTIATE_TEST_SUITE_P(Matrix, DebugForm,
                         ::testing::ValuesIn(forms({"zlib", "zstd", "zdebug", "link", "build-id", "dwz",
                                                    "dwo", "dwp", "llvm-dwp"})),
                         test_name);
INSTANTIATE_TEST_SUITE_P(SplitIntoTheObjectFile, DebugForm,
                         ::testing::Values(Form{"single", "clang-4"}, Form{"single", "clang-5"}), test_name);

class MiniDebugInfo : public DebugForm {};

TEST_P(MiniDebugInfo, NamesTheFunctionsOfAStrippedProgram) {
  const Form& form = GetParam();
  const auto addresses = all_code_of(twin_of(form));
  Options without_lines = no_debug_directories();
  without_lines.inlines = false;
  const auto expected = ModuleSymbols::open({.path = twin_of(form)}, without_lines)->resolve(addresses);
  for (const bool apart : {false, true}) {
    LocalNames reader(options_of(form, apart));
    const auto symbols = reader.open(source_of(folder_of(form) + "/program"), 1);
    EXPECT_EQ(symbols->source(), model::SymbolSource::kSymtab) << symbols->problem();
    EXPECT_EQ(symbols->resolve(addresses), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Matrix, MiniDebugInfo, ::testing::ValuesIn(forms({"mini", "mini-and-symtab"})),
                         test_name);

// A copy of a form that a test may damage.
class Copy {
 public:
  explicit Copy(const Form& form) {
    std::string name = ::testing::TempDir() + "fathom-forms-XXXXXX";
    path_ = ::mkdtemp(name.data());
    fs::copy(folder_of(form), path_, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  ~Copy() { fs::remove_all(path_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  std::string program() const { return path_ + "/program"; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<Name> names_in_turn(ModuleSymbols& symbols, const Form& form) {
  const auto file = elf::ModuleFile::open(twin_of(form));
  for (const auto& symbol : file->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.name.find("4turn") != std::string_view::npos && symbol.type == STT_FUNC)
      return symbols.resolve(std::vector<ElfAddress>{{symbol.address.value + 4}})[0];
  return {};
}

constexpr const char* kTurn = "engine::turn(engine::Shape const&, unsigned int)";

TEST(SplitDwarf, WithoutItsOtherPartTheFunctionAndTheLineAreKnownAndTheProblemIsNamed) {
  const Form form{"dwp", "gcc-4"};
  if (!why_missing(form).empty()) GTEST_SKIP() << "form not made: " << why_missing(form);
  const Copy copy(form);
  fs::remove(copy.program() + ".dwp");
  const auto symbols = ModuleSymbols::open({.path = copy.program()}, no_debug_directories());
  const auto names = names_in_turn(*symbols, form);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].function, kTurn);
  EXPECT_TRUE(names[0].file.ends_with("/forms.cpp")) << names[0].file;
  EXPECT_NE(names[0].line, 0u);
  EXPECT_NE(symbols->problem().find(
                "1 of 1 units asked for have their debug information in files that are not there"),
            std::string::npos)
      << symbols->problem();
}

TEST(SplitDwarf, APackageOfAnotherBuildIsNotBelieved) {
  const Form form{"dwp", "gcc-4"}, other{"dwp", "clang-4"};
  if (!why_missing(form).empty()) GTEST_SKIP() << "form not made: " << why_missing(form);
  const Copy copy(form);
  fs::copy_file(folder_of(other) + "/program.dwp", copy.program() + ".dwp",
                fs::copy_options::overwrite_existing);
  const auto symbols = ModuleSymbols::open({.path = copy.program()}, no_debug_directories());
  EXPECT_EQ(names_in_turn(*symbols, form).size(), 1u);
  EXPECT_NE(symbols->problem(), "");
}

TEST(Dwz, WithoutTheSharedFileTheProblemIsNamed) {
  const Form form{"dwz", "gcc-5"};
  if (!why_missing(form).empty()) GTEST_SKIP() << "form not made: " << why_missing(form);
  const Copy copy(form);
  fs::remove(copy.path() + "/common.dwz");
  const auto symbols = ModuleSymbols::open({.path = copy.program()}, no_debug_directories());
  EXPECT_EQ(names_in_turn(*symbols, form).back().function, kTurn) << "the symbol table has it all the same";
  EXPECT_NE(symbols->problem().find("common.dwz are missing"), std::string::npos) << symbols->problem();
}

// Every cut costs names, and nothing else.
TEST(SplitDwarf, EveryTruncationOfAPackageCostsNamesOnly) {
  for (const Form form : {Form{"dwp", "gcc-4"}, Form{"llvm-dwp", "clang-5"}}) {
    if (!why_missing(form).empty()) GTEST_SKIP() << "form not made: " << why_missing(form);
    const Copy copy(form);
    const auto whole = read_file(copy.program() + ".dwp");
    for (std::size_t size = 0; size < whole->size(); size += whole->size() / 60) {
      ASSERT_TRUE(write_file(copy.program() + ".dwp", whole->substr(0, size)));
      const auto symbols = ModuleSymbols::open({.path = copy.program()}, no_debug_directories());
      EXPECT_EQ(names_in_turn(*symbols, form).back().function, kTurn) << size;
    }
  }
}

}  // namespace
}  // namespace fathom::symbolize
