#include "analysis/feedback/source_profile.h"

#include <gtest/gtest.h>

#include "analysis/feedback/discriminator.h"

namespace fathom::feedback {
namespace {

using Place = symbolize::SourcePlace;
using Chain = std::vector<Place>;

// One instruction of four bytes for each chain; all are one block.
SampledCode straight(std::uint64_t start, const std::vector<Chain>& places,
                     const std::vector<std::int64_t>& samples) {
  SampledCode function;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ElfAddress at{start + 4 * i};
    function.code.push_back({at, 4, "mov", std::nullopt});
    function.places.push_back(places[i]);
    if (samples[i] != 0) function.samples.push_back({at, samples[i]});
  }
  return function;
}

TEST(SourceProfile, LinesCountFromTheFunctionsFirst) {
  const auto profile = source_profile(
      {straight(0x100, {{{"f", 10, 10, 0}}, {{"f", 10, 12, 0}}, {{"f", 10, 8, 0}}}, {0, 6, 0})}, {});
  const FunctionCounts& f = profile.functions.at("f");
  EXPECT_EQ(f.lines,
            (std::map<LinePlace, std::uint64_t>{{{0, 0}, 2000}, {{2, 0}, 2000}, {{0xfffe, 0}, 2000}}));
  EXPECT_EQ(f.head, 2000u);
  EXPECT_EQ(profile.samples, 6);
  EXPECT_EQ(profile.without_line, 0);
}

TEST(SourceProfile, AnInlinedCallIsBelowItsCaller) {
  const auto profile = source_profile(
      {straight(0x100,
                {{{"outer", 1, 3, 0}}, {{"inner", 20, 21, 0}, {"middle", 40, 45, 0}, {"outer", 1, 5, 0}}},
                {1, 1})},
      {});
  EXPECT_EQ(profile.functions.size(), 1u);
  const FunctionCounts& outer = profile.functions.at("outer");
  const FunctionCounts& middle = outer.inlined.at({4, 0}).at("middle");
  EXPECT_EQ(middle.inlined.at({5, 0}).at("inner").lines,
            (std::map<LinePlace, std::uint64_t>{{{1, 0}, 1000}}));
  EXPECT_EQ(outer.total(), 2000u);
}

TEST(SourceProfile, OfSeveralBlocksOfALineTheHottestCounts) {
  SampledCode function = straight(0x100, {{{"f", 1, 2, 0}}, {{"f", 1, 2, 0}}}, {1, 9});
  function.code[0].text = "ret";
  EXPECT_EQ(source_profile({function}, {}).functions.at("f").lines.at({1, 0}), 9000u);
}

TEST(SourceProfile, TheTargetsOfACallShareItsCount) {
  const Chain call = {{"f", 1, 4, 0}};
  const auto profile = source_profile({straight(0x100, {call}, {10})}, {{call, "a", 3},
                                                                        {call, "b", 1},
                                                                        {call, "bad name", 90},
                                                                        {{{"f", 1, 9, 0}}, "a", 5},
                                                                        {{{"g", 1, 4, 0}}, "a", 5}});
  const FunctionCounts& f = profile.functions.at("f");
  EXPECT_EQ(
      f.targets,
      (std::map<LinePlace, std::map<std::string, std::uint64_t>>{{{3, 0}, {{"a", 7500}, {"b", 2500}}}}));
  EXPECT_FALSE(profile.functions.contains("g")) << "it has no samples of its own";
}

// Names and lines that a compiler could not use, and a chain of which only a part is known.
TEST(SourceProfile, EverySampleIsInTheProfileOrWithoutALine) {
  const std::vector<Chain> places = {{},
                                     {{"", 1, 2, 0}},
                                     {{"f", 0, 2, 0}},
                                     {{"f", 1, 0, 0}},
                                     {{"a b", 1, 2, 0}},
                                     {{"a:b", 1, 2, 0}},
                                     {{"g", 1, 2, 0}, {"", 1, 2, 0}},
                                     {{"f", 1, 2, 0}}};
  const auto profile = source_profile({straight(0x100, places, {1, 2, 4, 8, 16, 32, 64, 128})}, {});
  EXPECT_EQ(profile.without_line, 127);
  EXPECT_EQ(profile.samples, 128);
  EXPECT_EQ(profile.functions.size(), 1u);

  SampledCode without_code;
  without_code.samples = {{{0x10}, 5}};
  SampledCode before_code = straight(0x100, {{{"f", 1, 2, 0}}}, {0});
  before_code.samples = {{{0x50}, 3}};
  const auto lost = source_profile({without_code, before_code}, {});
  EXPECT_EQ(lost.without_line, 8);
  EXPECT_TRUE(lost.functions.empty());
}

// From LLVM's own encoder (DILocation::encodeDiscriminator): base, copies and the number of a copy of the code.
TEST(Discriminator, IsUnpackedAsLlvmPacksIt) {
  const struct {
    std::uint32_t packed;
    Discriminator is;
  } rows[] = {
      {0, {0, 1}},
      {2, {1, 1}},
      {4, {2, 1}},
      {0x3e, {31, 1}},
      {0x140 | 0x0, {0x40, 1}},
      {9, {0, 2}},
      {(4u << 8) | 2, {1, 4}},
  };
  for (const auto& row : rows) {
    const Discriminator got = unpack_discriminator(row.packed);
    EXPECT_EQ(got.base, row.is.base) << row.packed;
    EXPECT_EQ(got.copies, row.is.copies) << row.packed;
  }
}

TEST(SourceProfile, AnUnrolledInstructionStandsForItsCopies) {
  const auto profile = source_profile({straight(0x100, {{{"f", 1, 2, (4u << 8) | 2}}}, {3})}, {});
  EXPECT_EQ(profile.functions.at("f").lines, (std::map<LinePlace, std::uint64_t>{{{1, 1}, 12'000}}));
}

}  // namespace
}  // namespace fathom::feedback
