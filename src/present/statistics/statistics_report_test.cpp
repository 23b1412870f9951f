#include "present/statistics/statistics_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "present/statistics/statistics_sentences.h"

namespace fathom::present {
namespace {

using allocators::Statistics;
using allocators::StatisticsClass;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Statistics statistics() {
  Statistics one;
  one.version = "5.3.0";
  one.uptime_ns = 100'000'000'000;
  one.arenas = 8;
  one.arenas_read = 8;
  one.page_bytes = 4096;
  one.allocated = 100 * kMiB;
  one.active = 102 * kMiB;
  one.resident = 104 * kMiB;
  one.metadata = 2 * kMiB;
  one.retained = 50 * kMiB;
  one.dirty = 0;
  one.muzzy = 0;
  one.classes = {{.size = 4096,
                  .large = false,
                  .live = 25'600,
                  .made = 50'000,
                  .slabs = 25'600,
                  .blocks_in_slab = 1,
                  .slab_bytes = 4096}};
  one.settings = {{"opt.background_thread", "false"},
                  {"opt.dirty_decay_ms", "10000"},
                  {"config.prof", "true"},
                  {"opt.prof", "false"}};
  return one;
}

std::string sentences_of(const Statistics& one) {
  std::string text;
  for (const StatisticsSentence& sentence : statistics_sentences(one)) {
    text += sentence.text + "\n";
    for (const std::string& remedy : sentence.remedies) text += "try: " + remedy + "\n";
  }
  return text;
}

TEST(StatisticsSentences, OfAHeapThatIsInUseBlameNothing) {
  const std::string text = sentences_of(statistics());
  EXPECT_THAT(text,
              HasSubstr("The program has 100.0 MiB of 104.0 MiB that jemalloc counts as resident (96.2 %)."));
  EXPECT_THAT(text, Not(HasSubstr("Fragmentation")));
  EXPECT_THAT(text, Not(HasSubstr("try:")));
  EXPECT_THAT(text, HasSubstr("500 blocks a second"));
}

TEST(StatisticsSentences, NameTheSizeThatIsMostlyFree) {
  Statistics one = statistics();
  one.allocated = 50 * kMiB;
  one.classes = {{.size = 64,
                  .large = false,
                  .live = 8'000,
                  .made = 1,
                  .slabs = 125,
                  .blocks_in_slab = 64,
                  .slab_bytes = 4096},
                 {.size = 2048,
                  .large = false,
                  .live = 25'344,
                  .made = 1,
                  .slabs = 25'000,
                  .blocks_in_slab = 2,
                  .slab_bytes = 4096}};
  const std::string text = sentences_of(one);
  EXPECT_THAT(
      text,
      HasSubstr("Fragmentation: 48.2 MiB lie free among live blocks, 49.1 % of what slabs hold; most of it, "
                "48.2 MiB, among blocks of 2,048 bytes, of which 50.7 % of the places are used."));
}

TEST(StatisticsSentences, SayWhatGivesFreePagesBack) {
  Statistics one = statistics();
  one.dirty = 40 * kMiB;
  one.resident = 144 * kMiB;
  const std::string text = sentences_of(one);
  EXPECT_THAT(
      text,
      HasSubstr(
          "jemalloc gives them back 10000 ms after they became free, but only when a thread of that arena allocates or frees, because background_thread is off."));
  EXPECT_THAT(text, HasSubstr("background_thread is off"));
  EXPECT_THAT(text, HasSubstr("background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0"));
  one.settings = {{"opt.dirty_decay_ms", "-1"}};
  EXPECT_THAT(sentences_of(one), HasSubstr("dirty_decay_ms is -1: they are never given back."));
}

TEST(StatisticsSentences, SayWhatIsNotKnown) {
  Statistics one = statistics();
  one.classes.clear();
  one.allocated = 60 * kMiB;
  EXPECT_THAT(
      sentences_of(one),
      HasSubstr(
          "of its pages in use hold no block of the program: free slots in slabs, and padding; the file has no size tables to separate them."));
  one.cut = true;
  one.unread = 3;
  EXPECT_THAT(sentences_of(one), HasSubstr("Its end is missing"));
  EXPECT_THAT(sentences_of(one),
              HasSubstr("3 lines of its tables could not be read and are not in the numbers."));
  one.allocated.reset();
  EXPECT_THAT(sentences_of(one), HasSubstr("Its contents are unknown:"));
}

TEST(StatisticsSentences, NameTheLockThatWasWaitedForMost) {
  Statistics one = statistics();
  one.locks = {{"arena 0: blocks of 64 bytes", 9, 4'000'000'000}, {"ctl", 9, 1'000'000'000}};
  EXPECT_THAT(sentences_of(one), HasSubstr("Threads waited 5.00 s for its locks since the start (5.0 % of "
                                           "one CPU's time), most of it at arena 0: "
                                           "blocks of 64 bytes (4.00 s)."));
}

TEST(StatisticsSentences, OfSeveralReportWhatGrew) {
  Statistics first = statistics(), last = statistics();
  last.uptime_ns = 160'000'000'000;
  last.allocated = 130 * kMiB;
  last.resident = 134 * kMiB;
  last.classes.front().live += 30 * kMiB / 4096;
  const std::vector<Statistics> all{first, last};
  const std::vector<StatisticsSentence> sentences = growth_sentences(all);
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(
      sentences[0].text,
      "From the first to the last, 60.00 s later, what the program has went from 100.0 MiB to 130.0 MiB "
      "(+30.0 MiB), what "
      "is resident from 104.0 MiB to 134.0 MiB (+30.0 MiB).");
  EXPECT_EQ(sentences[1].text, "Blocks of 4,096 bytes grew most, by 30.0 MiB.");
}

// A log of two runs of a program: the second has grown since its own start only.
TEST(StatisticsSentences, DoNotCompareWithAnEarlierRun) {
  Statistics before = statistics(), now = statistics();
  before.uptime_ns = 900'000'000'000;
  EXPECT_TRUE(growth_sentences(std::vector<Statistics>{before, now}).empty());
  EXPECT_FALSE(growth_sentences(std::vector<Statistics>{now, before}).empty());
}

TEST(StatisticsReport, StaysWithinTheWidthAndSaysWhatItCuts) {
  Statistics one = statistics();
  for (std::uint64_t i = 1; i < 40; ++i)
    one.classes.push_back({.size = 4096 + i * 4096,
                           .large = true,
                           .live = 1,
                           .made = 1,
                           .slabs = {},
                           .blocks_in_slab = {},
                           .slab_bytes = {}});
  const std::string text = statistics_text(std::vector<Statistics>{one}, 100, false, 5);
  EXPECT_THAT(text, HasSubstr("jemalloc 5.3.0 · 100 s after its start · 8 arenas"));
  EXPECT_THAT(text, HasSubstr("Sizes of blocks, by what they hold, 5 of 40"));
  EXPECT_THAT(
      text,
      HasSubstr("  plus 50.0 MiB of address space that it keeps, whose pages were given back (retained)\n"));
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
    EXPECT_LE(end - start, 104u) << text.substr(start, end - start);  // "·" is two bytes
}

TEST(StatisticsReport, JsonHasWhatTheTextHas) {
  Statistics one = statistics();
  one.version = "5.3\xff";
  const auto json = nlohmann::json::parse(statistics_json(std::vector<Statistics>{one, one}));
  ASSERT_EQ(json["allocator_statistics"].size(), 2u);
  const auto& of = json["allocator_statistics"][0];
  EXPECT_EQ(of["allocated_bytes"], 100 * kMiB);
  EXPECT_EQ(of["dirty_bytes"], 0);
  EXPECT_EQ(of["mapped_bytes"], nullptr);
  EXPECT_EQ(of["size_classes"][0]["live_bytes"], 100 * kMiB);
  EXPECT_EQ(of["settings"]["opt.prof"], "false");
  EXPECT_EQ(of["lines"][0]["kind"], "live");
  EXPECT_FALSE(of["sentences"].empty());
}

}  // namespace
}  // namespace fathom::present
