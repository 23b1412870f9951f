#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "binary/elf/module_file.h"
#include "binary/unwind/table.h"
#include "binary/unwind/testing_module.h"

namespace fathom::unwind {
namespace {

using testing::bytes;
using testing::Bytes;
using testing::frame_of_16;
using testing::kCode;
using testing::ModuleSpec;
using testing::rule;
using testing::SectionBuilder;
using testing::table_of;

#define NEEDS_FILE(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << (path)

TEST(BuildTable, RulesHoldFromTheirRowToTheNextAndNotBeyondTheFunction) {
  SectionBuilder frames;
  frames.fde(frames.cie(), kCode + 0x100, 0x40, frame_of_16());
  const auto table = table_of({.eh_frame = frames.raw()});
  EXPECT_EQ(find_rule(table, {kCode + 0xff}), std::nullopt);
  EXPECT_EQ(find_rule(table, {kCode + 0x100}), rule(CFA_SP, 8));
  EXPECT_EQ(find_rule(table, {kCode + 0x101}), rule(CFA_SP, 16));
  EXPECT_EQ(find_rule(table, {kCode + 0x13f}), rule(CFA_SP, 16));
  EXPECT_EQ(find_rule(table, {kCode + 0x140}), std::nullopt);
  EXPECT_EQ(find_rule(table, {0}), std::nullopt);
  EXPECT_EQ(find_rule(table, {~std::uint64_t{0}}), std::nullopt);
  EXPECT_EQ(table.fdes, 1u);
}

TEST(BuildTable, FunctionsComeInAnyOrderAndPaddingBetweenThemCostsNoRow) {
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, kCode + 0x200, 0x10, frame_of_16());
  frames.fde(cie, kCode + 0x100, 0x10, frame_of_16());
  frames.fde(cie, kCode + 0x130, 0x10, frame_of_16());
  const auto table = table_of({.eh_frame = frames.raw()});
  EXPECT_EQ(find_rule(table, {kCode + 0x11f}), rule(CFA_SP, 16));  // 32 bytes of padding
  EXPECT_EQ(find_rule(table, {kCode + 0x130}), rule(CFA_SP, 8));
  EXPECT_EQ(find_rule(table, {kCode + 0x140}), std::nullopt);  // 192 bytes: a gap
  EXPECT_EQ(find_rule(table, {kCode + 0x201}), rule(CFA_SP, 16));
  EXPECT_EQ(table.rows.size(), 1u + 2 + 2 + 1 + 2 + 1);
}

TEST(BuildTable, NeighboursWithTheSameRuleShareARow) {
  SectionBuilder frames;
  const auto cie = frames.cie();
  for (std::uint64_t i = 0; i < 50; ++i) frames.fde(cie, kCode + i * 16, 16, {});
  EXPECT_EQ(table_of({.eh_frame = frames.raw()}).rows.size(), 3u);  // none, rsp + 8, none
}

TEST(BuildTable, RowReachesIntoPagesThatHaveNoneOfTheirOwn) {
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, kCode + 0xfff0, 0x20020, frame_of_16());
  const auto table = table_of({.eh_frame = frames.raw()});
  ASSERT_EQ(table.pages.size(), 4u);
  EXPECT_EQ(table.page_base, kCode >> 16);
  EXPECT_EQ(find_rule(table, {kCode}), std::nullopt);
  EXPECT_EQ(find_rule(table, {kCode + 0xfff1}), rule(CFA_SP, 16));
  EXPECT_EQ(find_rule(table, {kCode + 0x10000}), rule(CFA_SP, 16));
  EXPECT_EQ(find_rule(table, {kCode + 0x2ffff}), rule(CFA_SP, 16));
  EXPECT_EQ(table.skipped, 0u);
}

TEST(BuildTable, FirstRowIsNoneAtTheStartOfTheFirstPage) {
  SectionBuilder frames;
  frames.fde(frames.cie(), kCode, 0x20, {});
  const auto table = table_of({.eh_frame = frames.raw()});
  EXPECT_EQ(table.rows[0], UNWIND_ROW(0, 0));
  EXPECT_EQ(table.rules[0].cfa, CFA_NONE);
  EXPECT_EQ(find_rule(table, {kCode}), rule(CFA_SP, 8));
}

TEST(BuildTable, InnerFunctionHoldsInItsRange) {
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, kCode, 0x100, bytes({0x0e, 32, 0x60, 0x0e, 64}));  // 64 from byte 0x20 on
  frames.fde(cie, kCode + 0x40, 0x10, {});
  const auto table = table_of({.eh_frame = frames.raw()});
  EXPECT_EQ(find_rule(table, {kCode + 0x3f}), rule(CFA_SP, 64));
  EXPECT_EQ(find_rule(table, {kCode + 0x40}), rule(CFA_SP, 8));
  EXPECT_EQ(find_rule(table, {kCode + 0x50}), rule(CFA_SP, 64));
}

TEST(BuildTable, CodeThatCannotRunHasNoRules) {
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, 0x50000, 0x10, {});                   // outside of the executable segment
  frames.fde(cie, kCode + 0x30000 - 0x10, 0x1000, {});  // leads out of it
  const auto table = table_of({.eh_frame = frames.raw()});
  EXPECT_EQ(table.skipped, 1u);
  EXPECT_TRUE(find_rule(table, {kCode + 0x30000 - 1}));
  EXPECT_EQ(find_rule(table, {kCode + 0x30000}), std::nullopt);
}

TEST(BuildTable, CodeFurtherApartThanFourGigabytesDoesNotGrowTheIndex) {
  SectionBuilder frames(dwarf::FrameKind::kDebugFrame);
  const auto cie = frames.cie({.augmentation = ""});
  frames.fde(cie, kCode, 0x10, {});
  frames.fde(cie, kCode + (std::uint64_t{1} << 40), 0x10, {});
  elf::testing::ElfBuilder builder;
  const auto code = builder.blob(Bytes(0x100));
  builder.segment(PT_LOAD, PF_R | PF_X, kCode, code);
  builder.segment(PT_LOAD, PF_R | PF_X, kCode + (std::uint64_t{1} << 40), code);
  builder.section(".debug_frame", SHT_PROGBITS, 0, 0, builder.blob(frames.raw()));
  const auto image = builder.build();
  const auto table = build_table(elf::ElfFile::parse(image, "hand-made").value()).value();
  EXPECT_EQ(table.pages.size(), 1u);
  EXPECT_EQ(table.skipped, 1u);  // the far one
  EXPECT_TRUE(find_rule(table, {kCode}));
}

TEST(BuildTable, IsFoundThroughTheProgramHeadersAlone) {
  SectionBuilder frames;
  frames.fde(frames.cie(), kCode, 0x20, {});
  dwarf::testing::put(frames.raw(), std::uint32_t{0});
  const auto table = table_of({.eh_frame = frames.raw(), .section_headers = false});
  EXPECT_EQ(find_rule(table, {kCode}), rule(CFA_SP, 8));
}

TEST(BuildTable, IsFoundThroughTheSectionWithoutAHeader) {
  SectionBuilder frames;
  frames.fde(frames.cie(), kCode, 0x20, {});
  EXPECT_EQ(find_rule(table_of({.eh_frame = frames.raw(), .eh_frame_header = false}), {kCode}),
            rule(CFA_SP, 8));
}

TEST(BuildTable, DebugFrameFillsWhatEhFrameLeaves) {
  SectionBuilder frames;
  frames.fde(frames.cie(), kCode, 0x20, {});
  SectionBuilder debug(dwarf::FrameKind::kDebugFrame);
  const auto cie = debug.cie({.augmentation = ""});
  debug.fde(cie, kCode, 0x20, frame_of_16());
  debug.fde(cie, kCode + 0x20, 0x20, frame_of_16());
  const auto table = table_of({.eh_frame = frames.raw(), .debug_frame = debug.raw()});
  EXPECT_EQ(find_rule(table, {kCode + 1}), rule(CFA_SP, 8));  // of the same range, .eh_frame counts
  EXPECT_EQ(find_rule(table, {kCode + 0x21}), rule(CFA_SP, 16));
}

TEST(BuildTable, CompressedDebugFrameIsInflated) {
  SectionBuilder debug(dwarf::FrameKind::kDebugFrame);
  debug.fde(debug.cie({.augmentation = ""}), kCode, 0x20, frame_of_16());
  Bytes stored;
  for (const std::uint64_t word : {std::uint64_t{1}, std::uint64_t{debug.raw().size()}, std::uint64_t{8}})
    dwarf::testing::put(stored, word);
  uLongf size = compressBound(debug.raw().size());
  stored.resize(24 + size);
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(stored.data() + 24), &size,
                     reinterpret_cast<const Bytef*>(debug.raw().data()), debug.raw().size()),
            Z_OK);
  stored.resize(24 + size);
  const auto table = table_of({.debug_frame = stored, .debug_frame_flags = SHF_COMPRESSED});
  EXPECT_EQ(find_rule(table, {kCode + 1}), rule(CFA_SP, 16));
}

TEST(BuildTable, ModuleWithoutInformationHasAnEmptyTable) {
  const auto table = table_of({});
  EXPECT_TRUE(table.rows.empty());
  EXPECT_TRUE(table.pages.empty());
  EXPECT_EQ(find_rule(table, {kCode}), std::nullopt);
}

TEST(BuildTable, OtherMachinesAndObjectFilesAreRefused) {
  auto image = testing::module_bytes({});
  auto header = *reinterpret_cast<Elf64_Ehdr*>(image.data());
  header.e_machine = EM_AARCH64;
  std::memcpy(image.data(), &header, sizeof header);
  EXPECT_EQ(build_table(elf::ElfFile::parse(image, "x").value()).error().kind, ErrorKind::kUnsupported);
  header.e_machine = EM_X86_64;
  header.e_type = ET_REL;
  std::memcpy(image.data(), &header, sizeof header);
  EXPECT_EQ(build_table(elf::ElfFile::parse(image, "x").value()).error().kind, ErrorKind::kUnsupported);
}

TEST(BuildTable, EveryPrefixOfAModuleIsReadOrRefused) {
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, kCode, 0x20, frame_of_16());
  frames.fde(cie, kCode + 0x100, 0x20, frame_of_16());
  const auto image = testing::module_bytes({.eh_frame = frames.raw(), .code_size = 0x400});
  std::uint64_t most = 0;
  for (std::size_t size = 0; size <= image.size(); ++size) {
    const auto file = elf::ElfFile::parse(std::span(image).first(size), "prefix");
    if (!file) continue;
    const auto table = build_table(*file);
    ASSERT_TRUE(table);
    most = std::max(most, table->fdes);
  }
  EXPECT_EQ(most, 2u);
}

// Every row of a real table is where its page says.
TEST(BuildTable, RowsOfLibcAreSortedWithinTheirPages) {
  NEEDS_FILE("/lib/x86_64-linux-gnu/libc.so.6");
  const auto file = elf::ModuleFile::open("/lib/x86_64-linux-gnu/libc.so.6");
  ASSERT_TRUE(file) << file.error().message;
  const auto table = build_table(file->elf()).value();
  std::uint32_t expected = 0;
  for (const unwind_page page : table.pages) {
    const auto first = static_cast<std::uint32_t>(page);
    const auto last = static_cast<std::uint32_t>(page >> 32);
    ASSERT_EQ(first, expected);
    ASSERT_LE(first, last);
    for (std::uint32_t i = first; i + 1 < last; ++i)
      ASSERT_LE(UNWIND_ROW_ADDRESS(table.rows[i]), UNWIND_ROW_ADDRESS(table.rows[i + 1]));
    expected = last;
  }
  EXPECT_EQ(expected, table.rows.size());
  for (const unwind_row row : table.rows) ASSERT_LT(UNWIND_ROW_RULE(row), table.rules.size());
}

TEST(BuildTable, LibcHasTheSignalTrampolineAndTheStartOfThreads) {
  NEEDS_FILE("/lib/x86_64-linux-gnu/libc.so.6");
  const auto file = elf::ModuleFile::open("/lib/x86_64-linux-gnu/libc.so.6");
  ASSERT_TRUE(file) << file.error().message;
  const auto table = build_table(file->elf()).value();
  const auto has = [&](unwind_cfa cfa) {
    return std::any_of(table.rules.begin(), table.rules.end(),
                       [&](const unwind_rule& r) { return r.cfa == cfa; });
  };
  EXPECT_TRUE(has(CFA_SIGNAL));
  EXPECT_TRUE(has(CFA_END));
  EXPECT_TRUE(has(CFA_PLT));
}

// Assembly without unwind information: it has no caller.
TEST(BuildTable, TheLoadersEntryIsWhereAStackEnds) {
  NEEDS_FILE("/lib64/ld-linux-x86-64.so.2");
  const auto file = elf::ModuleFile::open("/lib64/ld-linux-x86-64.so.2");
  ASSERT_TRUE(file) << file.error().message;
  const auto table = build_table(file->elf()).value();
  const auto rule = find_rule(table, file->elf().entry());
  ASSERT_TRUE(rule.has_value());
  EXPECT_EQ(rule->cfa, CFA_END);
  EXPECT_EQ(find_rule(table, {file->elf().entry().value + 10})->cfa, CFA_END)
      << "the return address of a call";
}

// The vdso has no file: an image in memory, as long as its mapping.
TEST(BuildTable, VdsoImageHasRulesForItsFunctions) {
  const auto start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0) GTEST_SKIP() << "this kernel gives no vdso";
  const std::span image(reinterpret_cast<const std::byte*>(start), 0x1000);
  const auto vdso = elf::ElfFile::parse(image, "vdso").value();
  const auto table = build_table(vdso).value();
  EXPECT_GT(table.fdes, 0u);
  int functions = 0;
  for (const elf::Symbol& symbol : vdso.symbols(elf::SymbolTable::kDynsym)) {
    if (symbol.type != STT_FUNC || symbol.section == SHN_UNDEF) continue;
    ++functions;
    EXPECT_EQ(find_rule(table, symbol.address), rule(CFA_SP, 8)) << symbol.name;
  }
  EXPECT_GT(functions, 0);
}

TEST(FunctionBounds, AreSortedWithEachStartOnce) {
  SectionBuilder frames;
  const auto cie = frames.cie();
  frames.fde(cie, kCode + 0x100, 0x20, {});
  frames.fde(cie, kCode, 0x10, {});
  frames.fde(cie, kCode, 0x18, {});
  frames.fde(cie, 0x50000, 0x10, {});  // no code there
  const auto image = testing::module_bytes({.eh_frame = frames.raw()});
  const auto bounds = function_bounds(elf::ElfFile::parse(image, "hand-made").value());
  using Bound = std::pair<ElfAddress, std::uint64_t>;
  EXPECT_THAT(bounds, ::testing::ElementsAre(Bound{{kCode}, 0x10}, Bound{{kCode + 0x100}, 0x20}));
}

}  // namespace
}  // namespace fathom::unwind
