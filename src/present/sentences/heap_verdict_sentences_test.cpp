#include "present/sentences/heap_verdict_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::present {
namespace {

using testing::HasSubstr;
using testing::Not;

analysis::HeapVerdict bloat_of(std::string function) {
  analysis::HeapVerdict verdict;
  verdict.kind = analysis::HeapVerdictKind::kBloat;
  verdict.of_whole = false;
  verdict.bytes = 8 << 20;
  verdict.facts.place.name = std::move(function);
  verdict.facts.place.callers = {"(anonymous namespace)::load(std::basic_string<char> const&)"};
  return verdict;
}

// Names of tables, with arguments and namespaces, filled two of three lines of such a sentence.
TEST(HeapVerdictSentences, NamesAreThoseOfProse) {
  const std::string text = sentence_of(bloat_of("(anonymous namespace)::grow_table(unsigned long)"));
  EXPECT_THAT(text, HasSubstr("grow_table (called by load) holds 8.0 MiB"));
  EXPECT_THAT(text, Not(HasSubstr("anonymous")));
  EXPECT_THAT(sentence_of(bloat_of("Shop::fill(int)::{lambda()#1}::operator()() const")),
              HasSubstr("a lambda in Shop::fill (called by load) holds"));
}

TEST(HeapVerdictSentences, ErrorsOfThoseWhoFreeCountTheirBlocks) {
  using Kind = analysis::HeapVerdictKind;
  const auto sentence = [](Kind kind, double blocks) {
    analysis::HeapVerdict error;
    error.kind = kind;
    error.of_whole = false;
    error.facts.place.name = "open_session";
    error.facts.blocks = blocks;
    return sentence_of(error);
  };
  EXPECT_EQ(sentence(Kind::kFreedTwice, 1), "Error: 1 block of open_session was freed twice.");
  EXPECT_EQ(sentence(Kind::kFreedTwice, 20), "Error: 20 blocks of open_session were freed twice.");
  EXPECT_EQ(sentence(Kind::kWrongSize, 1),
            "Error: 1 block of open_session was freed with a size that is not its own.");
  EXPECT_EQ(sentence(Kind::kWrongSize, 2),
            "Error: 2 blocks of open_session were freed with a size that is not theirs.");
}

TEST(HeapVerdictSentences, RatesHaveThreeDigitsAtMost) {
  analysis::HeapVerdict churn;
  churn.kind = analysis::HeapVerdictKind::kChurn;
  churn.of_whole = false;
  churn.facts.place.name = "parse";
  churn.facts.calls_per_s = 1'750'453;
  EXPECT_THAT(sentence_of(churn), HasSubstr("parse allocates 1,750,000 times and "));
}

// One of 512 blocks was sampled: 12,345 of them are known to within 4,900, and 8,123,456 bytes of theirs likewise.
TEST(HeapVerdictSentences, SampledCountsHaveTheDigitsThatTheirErrorLeaves) {
  analysis::HeapVerdict left;
  left.kind = analysis::HeapVerdictKind::kUnfreed;
  left.bytes = 8'123'456;
  left.facts.blocks = 12'345;
  EXPECT_THAT(sentence_of(left), HasSubstr("7.7 MiB in 12,345 blocks")) << "every call was seen";
  left.facts.per_unit = {511, 340'000};
  EXPECT_THAT(sentence_of(left), HasSubstr("8 MiB ±3.4 MiB in 12,000 blocks"));
  left.evidence = {{analysis::HeapEvidenceKind::kNoneFreed, 12'345}};
  EXPECT_THAT(evidence_of(left),
              testing::ElementsAre("none of the 12,000 blocks that it allocated were freed"));
  left.facts.blocks = 380;  // less than one sample stands for
  EXPECT_THAT(sentence_of(left), HasSubstr(" in 10 to 2,100 blocks")) << "never nothing";
}

// A heap that was full for an instant only: "it is at 0 bytes (one sample: between 0 bytes and 0 bytes)".
TEST(HeapVerdictSentences, OfALevelSayWhatHidesGrowth) {
  analysis::HeapVerdict level;
  level.kind = analysis::HeapVerdictKind::kLevel;
  level.of_whole = true;
  level.facts.unseen_bytes_per_s = 300'000;
  level.facts.unseen_in_s = 10;
  level.facts.per_unit = {511, 340'000};
  for (const double nearly_nothing : {0.0, 0.0001, 0.4}) {
    level.facts.level_bytes = nearly_nothing;
    EXPECT_THAT(sentence_of(level),
                HasSubstr("which so few samples cannot exclude: it is at no more than 2.9 MiB;"));
  }
  level.facts.level_bytes = 300'000;
  EXPECT_THAT(sentence_of(level), HasSubstr("(one sample: between "));
  level.facts.per_unit = {};
  EXPECT_THAT(sentence_of(level), HasSubstr("but it swings too much to exclude it: it is at 293.0 KiB;"))
      << "every call was seen";
  level.facts.unseen_bytes_per_s = 100;
  EXPECT_THAT(sentence_of(level), HasSubstr("does not grow: it is level at 293.0 KiB"));
}

}  // namespace
}  // namespace fathom::present
