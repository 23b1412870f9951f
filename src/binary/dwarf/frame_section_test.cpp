#include "binary/dwarf/frame_section.h"

#include <gtest/gtest.h>

#include "binary/dwarf/testing_cfi.h"

namespace fathom::dwarf {
namespace {

using testing::Bytes;
using testing::bytes;
using testing::put;
using testing::put_all;
using testing::SectionBuilder;

std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(const FrameSection& section) {
  FrameReader reader(section);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  while (const auto fde = reader.next()) out.emplace_back(fde->start.value, fde->size);
  return out;
}
using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(FrameReader, FunctionsComeInTheOrderOfTheSection) {
  SectionBuilder builder;
  const auto first = builder.cie();
  builder.fde(first, 0x2000, 16, {});
  const auto second = builder.cie();
  builder.fde(second, 0x1000, 32, {});
  builder.fde(first, 0x3000, 8, {});
  EXPECT_EQ(ranges(builder.section()), (Ranges{{0x2000, 16}, {0x1000, 32}, {0x3000, 8}}));
}

TEST(FrameReader, DebugFrameHasAbsoluteAddressesAndMayPutTheCieLast) {
  SectionBuilder builder(FrameKind::kDebugFrame);
  const std::uint64_t cie_after = 4 + 4 + 16;
  builder.fde(cie_after, 0x5000, 64, {});
  EXPECT_EQ(builder.cie({.augmentation = "", .version = 4}), cie_after);
  EXPECT_EQ(ranges(builder.section()), (Ranges{{0x5000, 64}}));
}

TEST(FrameReader, FunctionThatTheLinkerThrewAwayIsSkipped) {
  SectionBuilder builder(FrameKind::kDebugFrame);
  builder.fde(builder.cie({.augmentation = ""}), 0, 64, {});
  FrameReader reader(builder.section());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.skipped(), 1u);
}

TEST(FrameReader, SixtyFourBitRecords) {
  Bytes section;
  const auto record = [&](const Bytes& body) {
    put(section, 0xffffffffu);
    put(section, std::uint64_t{body.size()});
    put_all(section, body);
  };
  Bytes cie;
  put(cie, ~std::uint64_t{0});
  put_all(cie, bytes({3, 0, 1, 0x78, 16}));
  record(cie);
  Bytes fde;
  put(fde, std::uint64_t{0});
  put(fde, std::uint64_t{0x7000});
  put(fde, std::uint64_t{5});
  record(fde);
  EXPECT_EQ(ranges({section, {0}, FrameKind::kDebugFrame, {}, false}), (Ranges{{0x7000, 5}}));
}

TEST(FrameReader, AugmentationWithPersonalityAndSignalFrame) {
  SectionBuilder builder;
  // P: absolute 8 bytes; L; R: 4 bytes signed pc-relative; S
  auto data = bytes({0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b, 0x1b});
  builder.fde(builder.cie({.augmentation = "zPLRS", .augmentation_data = data}), 0x1000, 16, {});
  FrameReader reader(builder.section());
  const auto fde = reader.next();
  ASSERT_TRUE(fde);
  EXPECT_TRUE(fde->cie->signal_frame);
  EXPECT_EQ(fde->start, ElfAddress{0x1000});
}

TEST(FrameReader, UnknownVersionOrAugmentationCostsOnlyItsFunctions) {
  SectionBuilder builder;
  const auto version = builder.cie({.version = 9});
  const auto old = builder.cie({.augmentation = "eh"});
  const auto good = builder.cie();
  builder.fde(version, 0x1000, 16, {});
  builder.fde(old, 0x2000, 16, {});
  builder.fde(good, 0x3000, 16, {});
  builder.fde(good + 1, 0x4000, 16, {});  // no CIE starts there
  FrameReader reader(builder.section());
  ASSERT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.skipped(), 3u);
}

TEST(FrameReader, TerminatorInTheMiddleEndsOnlyASectionOfUnknownSize) {
  SectionBuilder builder;
  const auto cie = builder.cie();
  builder.fde(cie, 0x1000, 16, {});
  put(builder.raw(), std::uint32_t{0});
  builder.fde(cie, 0x2000, 16, {});
  auto section = builder.section();
  EXPECT_EQ(ranges(section).size(), 2u);
  section.ends_at_zero = true;
  EXPECT_EQ(ranges(section).size(), 1u);
}

TEST(FrameReader, LengthThatLeadsOutOfTheSectionEndsIt) {
  SectionBuilder builder;
  builder.fde(builder.cie(), 0x1000, 16, {});
  put(builder.raw(), std::uint32_t{0xfffffff5});
  put(builder.raw(), std::uint32_t{1});
  FrameReader reader(builder.section());
  EXPECT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.cut_short());
}

TEST(FrameReader, RangeThatWrapsOrIsEmptyIsSkipped) {
  SectionBuilder builder(FrameKind::kDebugFrame);
  const auto cie = builder.cie({.augmentation = ""});
  builder.fde(cie, ~std::uint64_t{0} - 4, 16, {});
  builder.fde(cie, 0x1000, 0, {});
  FrameReader reader(builder.section());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.skipped(), 2u);
}

TEST(FrameReader, EveryPrefixIsReadOrRefused) {
  SectionBuilder builder;
  const auto cie = builder.cie();
  builder.fde(cie, 0x1000, 16, bytes({0x41, 0x0e, 16}));
  builder.fde(cie, 0x2000, 16, {});
  const auto section = builder.section();
  std::size_t most = 0;
  for (std::size_t size = 0; size <= section.bytes.size(); ++size) {
    auto cut = section;
    cut.bytes = cut.bytes.first(size);
    most = std::max(most, ranges(cut).size());
  }
  EXPECT_EQ(most, 2u);
}

}  // namespace
}  // namespace fathom::dwarf
