#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "binary/elf/elf_file.h"
#include "binary/elf/module_file.h"
#include "binary/elf/testing_elf.h"

namespace fathom::elf {
namespace {

using testing::append;
using testing::Bytes;
using testing::ElfBuilder;
using testing::put;
using testing::put_text;
using testing::symbol_entry;

std::vector<std::string> names_of(const std::vector<Symbol>& symbols) {
  std::vector<std::string> out;
  for (const Symbol& each : symbols) out.emplace_back(each.name);
  return out;
}

Bytes two_symbols() {  // one, two (at 5)
  Bytes entries(sizeof(Elf64_Sym));
  for (const auto& entry :
       {symbol_entry(1, STT_FUNC, 1, 0x1000, 16), symbol_entry(5, STT_OBJECT, 2, 0x2000, 8)})
    append(entries, entry.data(), entry.size());
  return entries;
}
Bytes two_names() {
  Bytes names(1);
  put_text(names, std::string_view("one\0two\0", 8));
  return names;
}

TEST(Symbols, AreReadInFileOrderWithTypeAndSize) {
  ElfBuilder builder;
  builder.section(".symtab", SHT_SYMTAB, 0, 0, builder.blob(two_symbols()), 2, sizeof(Elf64_Sym));
  builder.section(".strtab", SHT_STRTAB, 0, 0, builder.blob(two_names()));
  const auto bytes = builder.build();
  const auto symbols = ElfFile::parse(bytes, "hand-made").value().symbols(SymbolTable::kSymtab);
  ASSERT_THAT(names_of(symbols), ::testing::ElementsAre("one", "two"));
  EXPECT_EQ(symbols[0].address, ElfAddress{0x1000});
  EXPECT_EQ(symbols[0].size, 16u);
  EXPECT_EQ(symbols[0].type, STT_FUNC);
  EXPECT_EQ(symbols[0].binding, STB_GLOBAL);
  EXPECT_EQ(symbols[1].type, STT_OBJECT);
  EXPECT_EQ(symbols[1].section, 2);
}

TEST(Symbols, NameBeyondTheStringTableIsSkipped) {
  ElfBuilder builder;
  auto entries = two_symbols();
  const auto bad = symbol_entry(1000, STT_FUNC, 1, 0x3000, 1);
  append(entries, bad.data(), bad.size());
  builder.section(".symtab", SHT_SYMTAB, 0, 0, builder.blob(entries), 2, sizeof(Elf64_Sym));
  builder.section(".strtab", SHT_STRTAB, 0, 0, builder.blob(two_names()));
  const auto bytes = builder.build();
  const auto file = ElfFile::parse(bytes, "hand-made").value();
  EXPECT_EQ(file.symbols(SymbolTable::kSymtab).size(), 2u);
  EXPECT_TRUE(file.symbols(SymbolTable::kDynsym).empty());
}

// The same two symbols, seen through PT_DYNAMIC with each kind of hash table.
std::vector<Symbol> by_segment(std::uint64_t hash_tag, const Bytes& hash_table) {
  ElfBuilder builder;
  builder.without_section_headers();
  builder.segment(PT_LOAD, PF_R, 0x1000, builder.blob(two_symbols()));
  builder.segment(PT_LOAD, PF_R, 0x2000, builder.blob(two_names()));
  builder.segment(PT_LOAD, PF_R, 0x3000, builder.blob(hash_table));
  Bytes dynamic;
  for (const Elf64_Dyn& entry :
       {Elf64_Dyn{DT_SYMTAB, {0x1000}}, Elf64_Dyn{DT_STRTAB, {0x2000}},
        Elf64_Dyn{DT_STRSZ, {two_names().size()}}, Elf64_Dyn{static_cast<Elf64_Sxword>(hash_tag), {0x3000}},
        Elf64_Dyn{DT_NULL, {0}}})
    put(dynamic, entry);
  builder.segment(PT_DYNAMIC, PF_R, 0x4000, builder.blob(dynamic));
  static Bytes kept;  // the symbols' names point into it
  kept = builder.build();
  return ElfFile::parse(kept, "hand-made").value().symbols(SymbolTable::kDynsym);
}

TEST(Symbols, DynamicOnesAreFoundWithoutSectionHeaders) {
  Bytes hash;
  for (const std::uint32_t word : {1, 3}) put(hash, word);  // one bucket, three chain entries
  EXPECT_THAT(names_of(by_segment(DT_HASH, hash)), ::testing::ElementsAre("one", "two"));

  Bytes gnu_hash;
  for (const std::uint32_t word : {1, 1, 1, 0})
    put(gnu_hash, word);  // one bucket, first symbol 1, one bloom word
  put(gnu_hash, std::uint64_t{0});
  for (const std::uint32_t word : {1, 0x10, 0x11})
    put(gnu_hash, word);  // bucket: from 1; chain ends at the odd one
  EXPECT_THAT(names_of(by_segment(DT_GNU_HASH, gnu_hash)), ::testing::ElementsAre("one", "two"));
}

TEST(Symbols, GnuHashWhoseChainNeverEndsGivesNothing) {
  Bytes gnu_hash;
  for (const std::uint32_t word : {1, 1, 1, 0}) put(gnu_hash, word);
  put(gnu_hash, std::uint64_t{0});
  for (const std::uint32_t word : {1, 0x10, 0x10}) put(gnu_hash, word);
  EXPECT_TRUE(by_segment(DT_GNU_HASH, gnu_hash).empty());
}

TEST(Symbols, ThisTestProgramHasMainAndImportsFromLibc) {
  const auto file = ModuleFile::open("/proc/self/exe").value();
  const auto symtab = file.elf().symbols(SymbolTable::kSymtab);
  EXPECT_TRUE(std::any_of(symtab.begin(), symtab.end(), [](const Symbol& s) {
    return s.name == "main" && s.type == STT_FUNC && s.section != SHN_UNDEF && s.size > 0;
  }));
  const auto dynsym = file.elf().symbols(SymbolTable::kDynsym);
  EXPECT_TRUE(std::any_of(dynsym.begin(), dynsym.end(), [](const Symbol& s) {
    return s.name == "__libc_start_main" && s.section == SHN_UNDEF;
  }));
}

}  // namespace
}  // namespace fathom::elf
