#include "analysis/feedback/symbol_counts.h"

#include <gtest/gtest.h>

#include <random>

#include "binary/elf/testing_elf.h"

namespace fathom::feedback {
namespace {

struct SymbolRow {
  const char* name;
  std::uint64_t address, size;
  unsigned char binding = STB_GLOBAL, type = STT_FUNC;
};

class SymbolFile {
 public:
  explicit SymbolFile(const std::vector<SymbolRow>& rows) {
    elf::testing::Bytes names, table;
    elf::testing::put_text(names, std::string_view("\0", 1));
    elf::testing::put(table, Elf64_Sym{});
    for (const SymbolRow& row : rows) {
      const bool is_file = row.type == STT_FILE;
      elf::testing::put(table,
                        Elf64_Sym{static_cast<std::uint32_t>(names.size()),
                                  static_cast<unsigned char>(row.binding << 4 | row.type), 0,
                                  static_cast<std::uint16_t>(is_file ? SHN_ABS : 1), row.address, row.size});
      elf::testing::put_text(names, std::string_view(row.name, std::strlen(row.name) + 1));
    }
    elf::testing::ElfBuilder builder;
    const auto names_blob = builder.blob(names), table_blob = builder.blob(table);
    builder.section(".strtab", SHT_STRTAB, 0, 0, names_blob);
    builder.section(".symtab", SHT_SYMTAB, 0, 0, table_blob, 1, sizeof(Elf64_Sym));
    bytes_ = builder.build();
    file_.emplace(*elf::ElfFile::parse(bytes_, "test"));
  }
  const elf::ElfFile& elf() const { return *file_; }

 private:
  elf::testing::Bytes bytes_;
  std::optional<elf::ElfFile> file_;
};

using Rows = std::vector<SymbolCount>;

TEST(SymbolCounts, AnOffsetCountsFromTheSymbol) {
  const SymbolFile file({{"main", 0x1000, 0x40}, {"work", 0x1040, 0x20}});
  const auto counts = symbol_counts(file.elf(), {{{0x1000}, 1}, {{0x103f}, 2}, {{0x1040}, 3}, {{0x105f}, 4}});
  EXPECT_EQ(counts.rows, (Rows{{"main", 0, 1}, {"main", 0x3f, 2}, {"work", 0, 3}, {"work", 0x1f, 4}}));
  EXPECT_EQ(counts.samples, 10);
  EXPECT_EQ(counts.without_symbol, 0);
}

TEST(SymbolCounts, CodeBetweenFunctionsHasNoSymbol) {
  const SymbolFile file({{"main", 0x1000, 0x40}, {"mark", 0x1080, 0}, {"two\nlines", 0x2000, 0x10}});
  const auto counts = symbol_counts(file.elf(), {{{0xfff}, 1}, {{0x1040}, 2}, {{0x1080}, 4}, {{0x2004}, 8}});
  EXPECT_EQ(counts.rows, Rows{});
  EXPECT_EQ(counts.without_symbol, 15);
}

// The names that llvm-bolt 19 writes for such a program (-instrument).
TEST(SymbolCounts, LocalFunctionsAreNumberedByFileInTheOrderOfTheirAddresses) {
  const SymbolFile file({{"sort.c", 0, 0, STB_LOCAL, STT_FILE},
                         {"step", 0x3000, 0x10, STB_LOCAL},
                         {"table.c", 0, 0, STB_LOCAL, STT_FILE},
                         {"step", 0x1000, 0x10, STB_LOCAL},
                         {"sort.c", 0, 0, STB_LOCAL, STT_FILE},
                         {"step", 0x2000, 0x10, STB_LOCAL},
                         {"", 0, 0, STB_LOCAL, STT_FILE},
                         {"bare", 0x4000, 0x10, STB_LOCAL},
                         {"bare", 0x5000, 0x10, STB_LOCAL},
                         {"weak", 0x6000, 0x10, STB_WEAK}});
  const auto counts = symbol_counts(
      file.elf(), {{{0x1000}, 1}, {{0x2000}, 2}, {{0x3000}, 3}, {{0x4000}, 4}, {{0x5000}, 5}, {{0x6001}, 6}});
  EXPECT_EQ(counts.rows, (Rows{{"step/table.c/1", 0, 1},
                               {"step/sort.c/1", 0, 2},
                               {"step/sort.c/2", 0, 3},
                               {"bare/1", 0, 4},
                               {"bare/2", 0, 5},
                               {"weak", 1, 6}}));
}

TEST(SymbolCounts, OfSeveralNamesTheGlobalOneIsTaken) {
  const SymbolFile file({{"a.c", 0, 0, STB_LOCAL, STT_FILE},
                         {"alias", 0x1000, 0x10, STB_LOCAL},
                         {"table", 0x1000, 0x10, STB_GLOBAL, STT_OBJECT},
                         {"real", 0x1000, 0x10}});
  EXPECT_EQ(symbol_counts(file.elf(), {{{0x1008}, 2}}).rows, (Rows{{"real", 8, 2}}));
}

// Whatever the table holds: overlaps, ends beyond 64 bits, functions of one name.
TEST(SymbolCounts, EverySampleIsInARowOrWithoutASymbol) {
  std::mt19937 random(5);
  for (int run = 0; run < 200; ++run) {
    std::vector<SymbolRow> symbols;
    const char* names[] = {"a", "b", "c.c", "", "d\ne"};
    for (unsigned i = random() % 12; i > 0; --i)
      symbols.push_back({names[random() % 5], random() % 256, random() % 7 == 0 ? UINT64_MAX : random() % 64,
                         static_cast<unsigned char>(random() % 2), static_cast<unsigned char>(random() % 5)});
    std::vector<AddressCount> samples;
    std::int64_t sum = 0;
    for (std::uint64_t address = random() % 8; address < 300; address += 1 + random() % 8) {
      samples.push_back({{address}, static_cast<std::int64_t>(1 + random() % 100)});
      sum += samples.back().samples;
    }
    const SymbolFile file(symbols);
    const auto counts = symbol_counts(file.elf(), samples);
    std::int64_t in_rows = 0;
    for (const SymbolCount& row : counts.rows) in_rows += row.samples;
    EXPECT_EQ(in_rows, counts.samples) << run;
    EXPECT_EQ(counts.samples + counts.without_symbol, sum) << run;
  }
}

}  // namespace
}  // namespace fathom::feedback
