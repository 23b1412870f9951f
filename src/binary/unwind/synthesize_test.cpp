#include <gtest/gtest.h>

#include <algorithm>

#include "binary/unwind/table.h"
#include "binary/unwind/testing_module.h"

namespace fathom::unwind {
namespace {

using elf::testing::append;
using elf::testing::symbol_entry;
using testing::bytes;
using testing::Bytes;
using testing::kCode;
using testing::rule;

// push rbx; call; pop rbx; ret
const Bytes kFunction = bytes({0x53, 0xe8, 0, 0, 0, 0, 0x5b, 0xc3});

struct Named {
  std::string_view name;
  std::uint64_t offset;
  std::uint64_t size;
  std::uint8_t type = STT_FUNC;
};

// kFunction at every multiple of 0x100; call frame information for the one at 0x100 only.
Table table_with(const std::vector<Named>& named, const TableOptions& options = {},
                 const std::vector<Named>& sections = {}) {
  Bytes code(0x1000, std::byte{0xcc});
  for (std::size_t at = 0; at < code.size(); at += 0x100)
    std::copy(kFunction.begin(), kFunction.end(), code.begin() + static_cast<std::ptrdiff_t>(at));
  Bytes symbols(sizeof(Elf64_Sym));
  Bytes names(1);
  for (const Named& each : named) {
    const auto entry =
        symbol_entry(static_cast<std::uint32_t>(names.size()), each.type, 1, kCode + each.offset, each.size);
    append(symbols, entry.data(), entry.size());
    elf::testing::put_text(names, each.name);
    names.push_back({});
  }
  testing::SectionBuilder frames;
  frames.fde(frames.cie(), kCode + 0x100, 8,
             bytes({0x0e, 0x40}));  // as no real code has it, to be recognizable

  elf::testing::ElfBuilder builder;
  builder.segment(PT_LOAD, PF_R | PF_X, kCode, builder.blob(code));
  const auto eh_frame = builder.blob(frames.raw());
  builder.segment(PT_LOAD, PF_R, testing::kEhFrame, eh_frame);
  builder.section(".eh_frame", SHT_PROGBITS, SHF_ALLOC, testing::kEhFrame, eh_frame);
  builder.section(".symtab", SHT_SYMTAB, 0, 0, builder.blob(symbols), 3, sizeof(Elf64_Sym));
  builder.section(".strtab", SHT_STRTAB, 0, 0, builder.blob(names));
  for (const Named& each : sections)
    builder.section(std::string(each.name), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kCode + each.offset,
                    builder.blob(Bytes(each.size)));
  const auto image = builder.build();
  return build_table(elf::ElfFile::parse(image, "hand-made").value(), options).value();
}

TEST(Synthesize, FunctionWithASymbolAndWithoutInformationGetsRows) {
  const auto table = table_with({{"bare", 0x200, 8}});
  EXPECT_EQ(table.synthesized, 1u);
  EXPECT_EQ(find_rule(table, {kCode + 0x200}), rule(CFA_SP, 8));
  EXPECT_EQ(find_rule(table, {kCode + 0x201}), rule(CFA_SP, 16));
  EXPECT_EQ(find_rule(table, {kCode + 0x207}), rule(CFA_SP, 8));
  EXPECT_EQ(find_rule(table, {kCode + 0x208}), std::nullopt);
  EXPECT_EQ(find_rule(table, {kCode + 0x300}), std::nullopt);  // no symbol
}

TEST(Synthesize, FunctionBeforeAllOthersMovesTheStartOfTheTable) {
  const auto table = table_with({{"first", 0, 8}});
  EXPECT_EQ(find_rule(table, {kCode + 1}), rule(CFA_SP, 16));
  EXPECT_EQ(find_rule(table, {kCode + 0x101}), rule(CFA_SP, 0x40));
}

TEST(Synthesize, CallFrameInformationGoesBeforeCode) {
  const auto table = table_with({{"covered", 0x100, 8}, {"reaches_in", 0xfc, 8}});
  EXPECT_EQ(table.synthesized, 0u);
  EXPECT_EQ(find_rule(table, {kCode + 0x101}), rule(CFA_SP, 0x40));
}

TEST(Synthesize, SecondNameAndDataAndFunctionsWithoutSizeAreNotCounted) {
  const auto table = table_with({{"one", 0x200, 8},
                                 {"alias", 0x200, 8},
                                 {"inside", 0x206, 2},
                                 {"no_size", 0x300, 0},
                                 {"data", 0x400, 8, STT_OBJECT},
                                 {"outside", 0x100000, 8}});
  EXPECT_EQ(table.synthesized, 1u);
}

TEST(Synthesize, PartThatWasMovedAwayIsNoFunction) {
  EXPECT_EQ(table_with({{"work.cold", 0x200, 8}, {"work.cold.3", 0x300, 8}}).synthesized, 0u);
}

// A stripped library has no symbol of them, another one a symbol without a size.
TEST(Synthesize, StartAndEndOfALibraryAreFunctions) {
  for (const auto& symbols :
       {std::vector<Named>{}, std::vector<Named>{{"_init", 0x200, 0}, {"_fini", 0x300, 0}}}) {
    const auto table =
        table_with(symbols, {}, {{".init", 0x200, 8}, {".fini", 0x300, 8}, {".other", 0x400, 8}});
    EXPECT_EQ(table.synthesized, 2u);
    EXPECT_EQ(find_rule(table, {kCode + 0x201}), rule(CFA_SP, 16));
    EXPECT_EQ(find_rule(table, {kCode + 0x307}), rule(CFA_SP, 8));
    EXPECT_EQ(find_rule(table, {kCode + 0x401}), std::nullopt);
  }
  EXPECT_EQ(table_with({}, {}, {{".init", 0x200, 0}, {".fini", 0x100000, 8}}).synthesized, 0u);
}

TEST(Synthesize, IsNotDoneWhenNotWanted) {
  EXPECT_EQ(table_with({{"bare", 0x200, 8}}, {.synthesize = false}).synthesized, 0u);
}

}  // namespace
}  // namespace fathom::unwind
