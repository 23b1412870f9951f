// Names, inlined calls, files and lines against addr2line of binutils, on a program built with -O2 -g.
//
// Intended differences, which the comparison below allows:
//   - addr2line prints the bare name of a function without linkage name ("Bucket", "operator()"); we qualify
//   it by its
//     scopes or take the symbol ("store::Bucket::Bucket(unsigned long)"). The bare name must be its last
//     part.
//   - addr2line leaves "." and ".." in paths.
//   - For the innermost call, addr2line prints the symbol around the address instead of a name without
//   linkage name: the
//     function that everything was inlined into.
//   - addr2line names a cold part like its symbol ("main.cold"); it is the same function, and we name it so.
//   - binutils 2.40 sometimes prints the file of the unit with a line that is in another file (DWARF 5;
//   objdump
//     --dwarf=decodedline and eu-addr2line agree with us). Allowed only if the file has no such line.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/shell_word.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/module_symbols.h"

namespace fathom::symbolize {
namespace {

std::string run(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string output;
  char buffer[4096];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) output += buffer;
  return output;
}

// Addresses spread over the code of the file's own functions, a step that is no multiple of anything.
std::vector<ElfAddress> addresses_of(const std::string& path) {
  const auto file = elf::ModuleFile::open(path);
  std::vector<ElfAddress> addresses;
  for (const auto& symbol : file->elf().symbols(elf::SymbolTable::kSymtab))
    if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF)
      for (std::uint64_t offset = 0; offset < symbol.size; offset += 7)
        addresses.push_back({symbol.address.value + offset});
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

// `tool` and what follows it: llvm-symbolizer answers in the same form.
std::map<std::uint64_t, std::vector<Name>> ask(const std::string& tool, const std::string& path,
                                               const std::vector<ElfAddress>& addresses) {
  const std::string questions = ::testing::TempDir() + "fathom-addresses-" + std::to_string(::getpid());
  std::ostringstream text;
  for (const auto address : addresses) text << "0x" << std::hex << address.value << "\n";
  EXPECT_TRUE(write_file(questions, text.str()));
  std::istringstream answers(
      run(tool + " -a -f -C -i -e " + shell_word(path) + " < " + shell_word(questions)));
  std::filesystem::remove(questions);
  std::map<std::uint64_t, std::vector<Name>> found;
  std::vector<Name>* names = nullptr;
  for (std::string line; std::getline(answers, line);) {
    if (line.starts_with("0x")) {
      names = &found[std::stoull(line, nullptr, 16)];
      continue;
    }
    Name name;
    name.function = line;
    std::getline(answers, line);
    line = line.substr(0, line.find(" (discriminator"));
    const auto colon = line.rfind(':');
    name.file = std::filesystem::path(line.substr(0, colon)).lexically_normal().string();
    const auto number = line.substr(colon + 1);
    name.line = number == "?" ? 0 : static_cast<std::uint32_t>(std::stoul(number));
    if (name.file == "??") name.file.clear();
    if (names != nullptr) names->push_back(name);
  }
  return found;
}

// "operator()" and "main::{lambda()#1}::operator()() const"; "Bucket" and "store::Bucket::Bucket(unsigned
// long)".
bool same_function(const std::string& ours, const std::string& theirs) {
  if (ours == theirs || ours + ".cold" == theirs) return true;
  const auto at = ours.rfind("::" + theirs);
  if (at == std::string::npos) return false;
  const auto after = at + 2 + theirs.size();
  return after == ours.size() || ours[after] == '(';
}

bool file_has_line(const std::string& path, std::uint32_t line) {
  const auto text = read_file(path);
  return text && static_cast<std::uint32_t>(std::count(text->begin(), text->end(), '\n')) >= line;
}

// `by_symbol` counts the innermost calls that addr2line named by the symbol around them.
bool same_chain(const std::vector<Name>& ours, const std::vector<Name>& theirs, std::size_t& by_symbol) {
  if (ours.size() != theirs.size()) return false;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!same_function(ours[i].function, theirs[i].function)) {
      if (i != 0 || theirs.size() == 1 || !theirs[0].function.starts_with(theirs.back().function))
        return false;
      ++by_symbol;
    }
    if (ours[i].line != theirs[i].line) return false;
    if (ours[i].file != theirs[i].file && file_has_line(theirs[i].file, theirs[i].line)) return false;
  }
  return true;
}

void compare(const std::string& tool, const std::string& fixture) {
  const std::string path = std::string(FATHOM_FIXTURES) + "/" + fixture;
  const auto addresses = addresses_of(path);
  ASSERT_GT(addresses.size(), 40u);
  const auto expected = ask(tool, path, addresses);
  ASSERT_EQ(expected.size(), addresses.size());
  auto symbols = ModuleSymbols::open({.path = path}, Options{});
  ASSERT_EQ(symbols->source(), model::SymbolSource::kDwarf);
  const auto names = symbols->resolve(addresses);

  std::size_t compared = 0, inlined = 0, different = 0, by_symbol = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto& theirs = expected.at(addresses[i].value);
    if (theirs.empty() || !theirs[0].file.starts_with('/')) continue;  // start-up code without DWARF
    ++compared;
    inlined += theirs.size() > 1 ? 1 : 0;
    if (same_chain(names[i], theirs, by_symbol)) continue;
    if (++different > 5) continue;
    std::ostringstream message;
    for (const auto& name : names[i])
      message << "\n  ours:   " << name.function << " " << name.file << ":" << name.line;
    for (const auto& name : theirs)
      message << "\n  theirs: " << name.function << " " << name.file << ":" << name.line;
    ADD_FAILURE() << std::hex << addresses[i].value << message.str();
  }
  EXPECT_EQ(different, 0u);
  EXPECT_LE(by_symbol,
            compared / 20 + 10);  // a small file has few calls of all that the tool knows by symbol alone
  EXPECT_GT(compared, addresses.size() / 2);
  EXPECT_GT(inlined, compared / 8);
  std::printf("%s: %zu addresses compared, %zu in inlined calls, %zu named by symbol\n", fixture.c_str(),
              compared, inlined, by_symbol);
}

std::string test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

class AgainstAddr2line : public ::testing::TestWithParam<const char*> {};

TEST_P(AgainstAddr2line, NamesInlinedCallsFilesAndLinesAreTheSame) {
  compare("addr2line", GetParam());
}

// What clang wrote is compared with its own tool.
class AgainstLlvmSymbolizer : public ::testing::TestWithParam<const char*> {};

TEST_P(AgainstLlvmSymbolizer, NamesInlinedCallsFilesAndLinesAreTheSame) {
  const std::string tool =
      run("command -v llvm-symbolizer || command -v llvm-symbolizer-14 || command -v llvm-symbolizer-19");
  ASSERT_NE(tool, "");
  compare(tool.substr(0, tool.find('\n')) + " --output-style=GNU", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, AgainstLlvmSymbolizer, ::testing::Values("forms/clang-4", "forms/clang-5"),
                         test_name);

// binutils 2.40 does not know all of clang's DWARF 5: it misses calls whose ranges are given by number
// (DW_FORM_rnglistx), which we and llvm-symbolizer find.
#ifdef __clang__
INSTANTIATE_TEST_SUITE_P(Fixtures, AgainstAddr2line, ::testing::Values("dwarf4"));
#else
INSTANTIATE_TEST_SUITE_P(Fixtures, AgainstAddr2line,
                         ::testing::Values("dwarf5", "dwarf4", "no_build_id", "branch_tracking", "compressed",
                                           "forms/gcc-4", "forms/gcc-5"),
                         test_name);
#endif

}  // namespace
}  // namespace fathom::symbolize
