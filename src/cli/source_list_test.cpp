#include "cli/source_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace fathom::cli {
namespace {

using Kind = SourceDemand::Kind;

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : list + ",") {
    if (c != ',') {
      word += c;
      continue;
    }
    if (!word.empty()) words.push_back(std::exchange(word, ""));
  }
  return words;
}

std::vector<Sources> every_choice() {
  std::vector<Sources> all;
  for (const bool cpu : {false, true})
    for (const bool wait : {false, true})
      for (const bool memory : {false, true})
        for (const char* heap : {"", "sampled", "exact"})
          all.push_back({.cpu = cpu, .wait = wait, .memory = memory, .heap = heap});
  return all;
}

TEST(Sources, TextReadsAsTheSameChoice) {
  for (const Sources& sources : every_choice()) {
    const auto read = parse_sources(words_of(to_text(sources)));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, sources) << to_text(sources);
  }
}

TEST(Sources, OrderAndRepetitionDoNotMatter) {
  const Sources expected{.cpu = true, .wait = true, .memory = false, .heap = "exact"};
  EXPECT_EQ(parse_sources({"heap=exact", "wait", "cpu", "wait", "heap=exact"}).value(), expected);
  EXPECT_EQ(parse_sources({"heap"}).value(), parse_sources({"heap=sampled"}).value());
}

TEST(Sources, UnknownWordsAndTwoKindsOfHeapAreRefused) {
  for (const char* word : {"waits", "heap=some", "", "CPU", "off-cpu"}) {
    const auto read = parse_sources({"cpu", word});
    ASSERT_FALSE(read) << word;
    EXPECT_EQ(read.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(read.error().remedy, testing::HasSubstr("cpu,wait,memory,heap"));
  }
  EXPECT_FALSE(parse_sources({"heap", "heap=exact"}));
}

// The remedy of a clash is a list that has no clash.
TEST(Sources, TheRemedyOfAClashFits) {
  std::size_t clashes = 0;
  for (const Sources& listed : every_choice())
    for (const Sources& what : every_choice())
      for (const Kind kind : {Kind::kNeeds, Kind::kForbids}) {
        const std::vector<SourceDemand> demands{{"--leaks", kind, what}};
        const auto result = fits(listed, demands);
        if (result) continue;
        ++clashes;
        constexpr std::string_view kStart = "fathom record --sources ";
        if (!result.error().remedy.starts_with(kStart)) {
          EXPECT_EQ(result.error().remedy, "without --leaks");
          continue;
        }
        const auto better = parse_sources(words_of(result.error().remedy.substr(kStart.size())));
        ASSERT_TRUE(better) << result.error().remedy;
        EXPECT_TRUE(fits(*better, demands)) << result.error().remedy;
      }
  EXPECT_GT(clashes, 500u);
}

TEST(Sources, ErrorsNameTheOptionAndTheSource) {
  const Sources listed{.cpu = true, .wait = true, .memory = false, .heap = ""};
  const Error needs = fits(listed, {{"--leaks", Kind::kNeeds, {.heap = "exact"}}}).error();
  EXPECT_EQ(needs.message, "--leaks needs heap=exact, which --sources does not list");
  EXPECT_EQ(needs.remedy, "fathom record --sources cpu,wait,heap=exact");
  const Error forbids = fits(listed, {{"--no-off-cpu", Kind::kForbids, {.wait = true}}}).error();
  EXPECT_EQ(forbids.message, "--no-off-cpu contradicts --sources, which lists wait");
  EXPECT_EQ(forbids.remedy, "fathom record --sources cpu");
}

}  // namespace
}  // namespace fathom::cli
