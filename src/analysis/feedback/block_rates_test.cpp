#include "analysis/feedback/block_rates.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace fathom::feedback {
namespace {

using Code = std::vector<arch::DecodedInstruction>;

// One byte each, from address 0 on.
Code code_of(const std::vector<std::pair<const char*, std::optional<std::uint64_t>>>& rows) {
  Code code;
  for (const auto& [text, target] : rows)
    code.push_back({{code.size()}, 1, text, target ? std::optional(ElfAddress{*target}) : std::nullopt});
  return code;
}

TEST(BlockRates, AJumpAndWhatItLeadsToBeginBlocks) {
  const Code code =
      code_of({{"mov", {}}, {"jne 4", 4}, {"add", {}}, {"call 0", 0}, {"sub", {}}, {"ret", {}}});
  EXPECT_EQ(block_rates(code, {{{0}, 10}, {{3}, 6}, {{5}, 2}}), (std::vector<double>{5, 5, 3, 3, 1, 1}))
      << "a call ends no block, and what it leads to begins one anyway";
}

TEST(BlockRates, AJumpOutOfTheFunctionBeginsNoBlockInIt) {
  const Code code = code_of({{"mov", {}}, {"add", {}}, {"jmp 100", 100}, {"nop", {}}});
  EXPECT_EQ(block_rates(code, {{{1}, 3}}), (std::vector<double>{1, 1, 1, 0}));
}

TEST(BlockRates, WithoutCodeThereIsNothing) {
  EXPECT_TRUE(block_rates({}, {{{7}, 1}}).empty());
}

// Each block keeps its samples.
TEST(BlockRates, TheSumIsThatOfTheSamples) {
  std::mt19937 random(11);
  for (int run = 0; run < 300; ++run) {
    Code code;
    for (std::uint64_t at = 1000, size = random() % 40; code.size() < size;) {
      const auto bytes = static_cast<std::uint32_t>(1 + random() % 6);
      const char* texts[] = {"mov eax, ebx", "je", "jmp", "ret", "call"};
      const char* text = texts[random() % 5];
      code.push_back({{at}, bytes, text, ElfAddress{980 + random() % 120}});
      at += bytes;
    }
    std::vector<AddressCount> samples;
    double sum = 0;
    for (const auto& row : code)
      if (random() % 2 == 0) {
        samples.push_back(
            {{row.address.value + random() % row.size}, static_cast<std::int64_t>(random() % 50)});
        sum += static_cast<double>(samples.back().samples);
      }
    const std::vector<double> rates = block_rates(code, samples);
    EXPECT_NEAR(std::accumulate(rates.begin(), rates.end(), 0.0), sum, 1e-6) << run;
  }
}

}  // namespace
}  // namespace fathom::feedback
