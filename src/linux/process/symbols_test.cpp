#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/files.h"
#include "linux/process/kallsyms.h"
#include "linux/process/perf_map.h"

namespace fathom::process {
namespace {

TEST(Kallsyms, FunctionsAreSortedAndModulesNamed) {
  const auto symbols = parse_kallsyms(
      "ffffffffc0100040 t nft_do_chain\t[nf_tables]\n"
      "ffffffff81000000 T _stext\n"
      "ffffffff81000000 T startup_64\n"
      "ffffffff82000000 D init_task\n"
      "ffffffffc0200000 t bpf_prog_6deef7357e7b4530\t[bpf]\n"
      "ffffffff81000100 w weak_one\n");
  ASSERT_TRUE(symbols);
  EXPECT_EQ(*symbols,
            (std::vector<KernelSymbol>{{{0xffffffff81000000}, "_stext", ""},
                                       {{0xffffffff81000000}, "startup_64", ""},
                                       {{0xffffffff81000100}, "weak_one", ""},
                                       {{0xffffffffc0100040}, "nft_do_chain", "nf_tables"},
                                       {{0xffffffffc0200000}, "bpf_prog_6deef7357e7b4530", "bpf"}}));
}

TEST(Kallsyms, HiddenAddressesAreAMatterOfPermission) {
  const auto symbols = parse_kallsyms("0000000000000000 T _stext\n0000000000000000 t do_one\n");
  ASSERT_FALSE(symbols);
  EXPECT_EQ(symbols.error().kind, ErrorKind::kPermission);
  EXPECT_NE(symbols.error().remedy, "");
}

TEST(Kallsyms, EmptyAndBadTextGivesNoSymbols) {
  EXPECT_TRUE(parse_kallsyms("")->empty());
  EXPECT_TRUE(parse_kallsyms("xyz T name\nffffffff81000000 T\n\n")->empty());
}

TEST(Kallsyms, AFileOfAnyLengthIsVisitedLineByLineInItsOrder) {
  const std::string path = testing::TempDir() + "fathom-kallsyms-" + std::to_string(::getpid());
  std::vector<KernelSymbol> expected;
  {
    std::ofstream out(path);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const std::uint64_t address = 0xffffffff90000000 - i * 16;
      const std::string name = "function_" + std::string(i % 97, 'x') + std::to_string(i);
      out << std::hex << address << std::dec << " t " << name << (i % 3 == 0 ? "\t[module]\n" : "\n");
      expected.push_back({{address}, name, i % 3 == 0 ? "module" : ""});
    }
    out << "ffffffff91000000 T without_an_end";
    expected.push_back({{0xffffffff91000000}, "without_an_end", ""});
  }
  std::vector<KernelSymbol> visited;
  ASSERT_TRUE(visit_kallsyms(
      [&](const KernelSymbolView& symbol) {
        visited.push_back({symbol.address, std::string(symbol.name), std::string(symbol.module)});
      },
      path));
  EXPECT_EQ(visited, expected);
  EXPECT_EQ(*read_kallsyms(path), *parse_kallsyms(read_file(path).value()));
  ::unlink(path.c_str());
}

TEST(PerfMap, NamesWithBlanksAndNumbersWithOrWithoutPrefix) {
  EXPECT_EQ(parse_perf_map("7f10 20 JS:*add /app/x.js:1:2\n0x7f40 0x8 LazyCompile:~f\n"),
            (std::vector<PerfMapEntry>{{{0x7f10}, 0x20, "JS:*add /app/x.js:1:2"},
                                       {{0x7f40}, 8, "LazyCompile:~f"}}));
}

TEST(PerfMap, LaterEntryReplacesWhatItOverlaps) {
  EXPECT_EQ(parse_perf_map("1000 100 freed head\n1100 100 freed whole\n1200 100 freed tail\n1300 10 kept\n"
                           "10ff 102 new code\n"),
            (std::vector<PerfMapEntry>{{{0x10ff}, 0x102, "new code"}, {{0x1300}, 0x10, "kept"}}));
}

TEST(PerfMap, NeighboursDoNotReplaceEachOther) {
  EXPECT_EQ(parse_perf_map("1000 10 a\n1010 10 b\nff0 10 c\n").size(), 3u);
}

TEST(PerfMap, SameFunctionWrittenTwiceIsOne) {
  EXPECT_EQ(parse_perf_map("1000 10 a\n1000 10 a\n"), (std::vector<PerfMapEntry>{{{0x1000}, 0x10, "a"}}));
}

TEST(PerfMap, LinesThatMakeNoSenseAreLeftOut) {
  EXPECT_TRUE(
      parse_perf_map("\n1000\n1000 10\n1000 0 empty\nffffffffffffffff 2 around the end\nzz 10 x\n").empty());
}

TEST(PerfMap, LastLineStillBeingWrittenIsLeftOut) {
  EXPECT_EQ(parse_perf_map("1000 10 whole\n2000 10 hal").size(), 1u);
  EXPECT_TRUE(parse_perf_map("2000 10 hal").empty());
}

TEST(PerfMap, OwnMapIsReadOnlyWhenItIsAFile) {
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  EXPECT_FALSE(read_perf_map(::getpid()));
  std::ofstream(path) << "1000 10 f\n";
  const auto entries = read_perf_map(::getpid());
  ::unlink(path.c_str());
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), 1u);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto pipe = read_perf_map(::getpid());
  ::unlink(path.c_str());
  ASSERT_FALSE(pipe);
  EXPECT_EQ(pipe.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace fathom::process
