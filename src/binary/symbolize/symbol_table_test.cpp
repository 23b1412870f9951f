#include "binary/symbolize/symbol_table.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "binary/elf/testing_elf.h"

namespace fathom::symbolize {
namespace {

struct Entry {
  const char* name;
  std::uint64_t address, size;
  unsigned char type = STT_FUNC, binding = STB_GLOBAL;
  std::uint16_t section = 1;
};

// A file with code from 0x1000 to 0x2800, data from 0x3000, more code from 0x5000 to 0x5100.
class Table {
 public:
  explicit Table(const std::vector<Entry>& entries, bool exported_only = false) {
    elf::testing::Bytes symbols(sizeof(Elf64_Sym)), names(1);
    for (const auto& entry : entries) {
      const Elf64_Sym symbol{static_cast<Elf64_Word>(names.size()),
                             static_cast<unsigned char>(entry.binding << 4 | entry.type),
                             0,
                             entry.section,
                             entry.address,
                             entry.size};
      elf::testing::put(symbols, symbol);
      elf::testing::put_text(names, entry.name);
      names.push_back({});
    }
    elf::testing::ElfBuilder builder;
    const auto code = builder.blob(elf::testing::Bytes(0x1800));
    const auto small = builder.blob(elf::testing::Bytes(0x100));
    builder.segment(PT_LOAD, PF_R | PF_X, 0x1000, code);
    builder.section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, code);
    builder.section(".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x3000, small);
    builder.section(".fini", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x5000, small);
    builder.section(exported_only ? ".dynsym" : ".symtab", exported_only ? SHT_DYNSYM : SHT_SYMTAB, 0, 0,
                    builder.blob(symbols), 5, sizeof(Elf64_Sym));
    builder.section(".strtab", SHT_STRTAB, 0, 0, builder.blob(names));
    bytes_ = builder.build();
    const auto file = elf::ElfFile::parse(bytes_, "test");
    table_.add(*file, exported_only ? elf::SymbolTable::kDynsym : elf::SymbolTable::kSymtab);
    table_.finish();
  }
  std::string at(std::uint64_t address) const {
    const auto found = table_.find({address});
    return found ? std::string(found->name) : "";
  }
  const SymbolTable& table() const { return table_; }

 private:
  elf::testing::Bytes bytes_;
  SymbolTable table_;
};

TEST(SymbolTable, ASymbolWithASizeEndsThere) {
  const Table table({{"serve", 0x1100, 0x20}});
  EXPECT_EQ(table.at(0x10ff), "");
  EXPECT_EQ(table.at(0x1100), "serve");
  EXPECT_EQ(table.at(0x111f), "serve");
  EXPECT_EQ(table.at(0x1120), "");
}

TEST(SymbolTable, ASymbolWithoutSizeReachesToTheNextOneButNotOutOfItsSection) {
  const Table table({{"loop", 0x1100, 0}, {"next", 0x1200, 0x10}, {"last", 0x1f00, 0}});
  EXPECT_EQ(table.at(0x11ff), "loop");
  EXPECT_EQ(table.at(0x1200), "next");
  EXPECT_EQ(table.at(0x1210), "");
  EXPECT_EQ(table.at(0x1fff), "last");
  EXPECT_EQ(table.at(0x5000), "");
}

// The functions after it are there, and only their names are not.
TEST(SymbolTable, AnExportedSymbolWithoutSizeDoesNotReachFar) {
  const std::vector<Entry> symbols{{"filter", 0x1100, 0, STT_NOTYPE}};
  const Table exported(symbols, true), all(symbols);
  EXPECT_EQ(exported.at(0x1500), "filter");
  EXPECT_EQ(exported.at(0x2100), "");
  EXPECT_EQ(all.at(0x2100), "filter");
}

TEST(SymbolTable, ALabelInsideAFunctionDoesNotEndIt) {
  const Table table({{"memcpy_fast", 0x1100, 0x100}, {"copy_tail", 0x1180, 0, STT_NOTYPE, STB_LOCAL}});
  EXPECT_EQ(table.at(0x1190), "memcpy_fast");
}

TEST(SymbolTable, TheInnermostOfNestedSymbolsIsFound) {
  const Table table({{"outer", 0x1100, 0x100}, {"inner", 0x1140, 0x10}});
  EXPECT_EQ(table.at(0x113f), "outer");
  EXPECT_EQ(table.at(0x1145), "inner");
  EXPECT_EQ(table.at(0x1150), "outer");
}

TEST(SymbolTable, TheBestKnownAliasIsChosenInAnyOrder) {
  std::vector<Entry> entries = {{"__libc_malloc", 0x1100, 0x40},
                                {"malloc", 0x1100, 0x40},
                                {"a", 0x1100, 0x40, STT_FUNC, STB_LOCAL},
                                {"m", 0x1100, 0, STT_NOTYPE},
                                {"__malloc", 0x1100, 0x40, STT_FUNC, STB_WEAK}};
  EXPECT_EQ(Table(entries).at(0x1110), "malloc");
  std::reverse(entries.begin(), entries.end());
  EXPECT_EQ(Table(entries).at(0x1110), "malloc");
}

TEST(SymbolTable, AMangledNameIsNotPrivateBecauseOfItsUnderscore) {
  EXPECT_EQ(Table({{"_ZN1AC1Ev", 0x1100, 8}, {"_ZN1AC2Ev", 0x1100, 8}, {"__x", 0x1100, 8}}).at(0x1100),
            "_ZN1AC1Ev");
}

TEST(SymbolTable, WhatIsNoCodeIsLeftOut) {
  const Table table({{"object", 0x1100, 8, STT_OBJECT},
                     {"tls", 0x1110, 8, STT_TLS},
                     {"file.c", 0x1120, 0, STT_FILE},
                     {"imported", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF},
                     {"_edata", 0x3000, 0, STT_NOTYPE},
                     {"$x", 0x1130, 0, STT_NOTYPE, STB_LOCAL},
                     {".L12", 0x1140, 0, STT_NOTYPE, STB_LOCAL}});
  EXPECT_TRUE(table.table().empty());
}

TEST(SymbolTable, AnIfuncNamesNoCodeButIsKnownByItsResolver) {
  const Table table({{"memcpy", 0x1100, 0x40, STT_GNU_IFUNC}});
  EXPECT_EQ(table.at(0x1100), "");
  EXPECT_EQ(table.table().ifunc_at({0x1100}), "memcpy");
  EXPECT_EQ(table.table().ifunc_at({0x1101}), std::nullopt);
}

TEST(SymbolTable, AVersionIsNoPartOfTheName) {
  EXPECT_EQ(Table({{"read@@GLIBC_2.2.5", 0x1100, 8}}).at(0x1100), "read");
}

TEST(SymbolTable, SymbolsAtTheEndOfTheAddressSpaceDoNotWrap) {
  const Table table({{"huge", 0x1100, ~std::uint64_t{0}}});
  EXPECT_EQ(table.at(0x10ff), "");
  EXPECT_EQ(table.at(~std::uint64_t{0}), "");
}

}  // namespace
}  // namespace fathom::symbolize
