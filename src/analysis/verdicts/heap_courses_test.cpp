// Programs whose memory has a known course get no wrong verdict: no leak where there is none, and no "does
// not grow" where it grows. "Not known" is never wrong, so it must not be the only answer.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "analysis/verdicts/heap_verdicts.h"
#include "analysis/verdicts/testing_course_recording.h"
#include "present/sentences/heap_verdict_sentences.h"

namespace fathom::analysis {
namespace {

constexpr std::uint64_t kSeeds = 12;
constexpr std::uint64_t kFine = 64 * 1024, kUsual = 512 * 1024;

std::vector<HeapVerdict> verdicts_of(const CourseRecording& recording) {
  return judge_heap(recording.profile, {}, HeapSums(recording.profile, {}));
}

CourseVerdict as_read(const HeapVerdict& verdict) {
  CourseVerdict read{std::string(to_string(verdict.kind)), verdict.of_whole ? "" : verdict.function, 0};
  for (const auto& [name, value] : verdict.numbers)
    if (name == "unseen_bytes_per_s") read.unseen_bytes_per_s = value;
  return read;
}

std::string text_of(const HeapVerdict& verdict) {
  return fmt::format("[{}] {} | {} | {} | {}", to_string(verdict.confidence), present::sentence_of(verdict),
                     fmt::join(present::evidence_of(verdict), "; "),
                     fmt::join(present::doubts_of(verdict), "; "), present::advice_of(verdict));
}

class HeapCourses : public testing::TestWithParam<CourseRow> {};

TEST_P(HeapCourses, GetNoVerdictThatIsWrong) {
  for (const bool attached : {false, true})
    for (const std::uint64_t mean : {std::uint64_t{0}, kFine, kUsual})
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const CourseRecording recording({GetParam().name, seed, 60, mean, attached});
        for (const HeapVerdict& verdict : verdicts_of(recording))
          EXPECT_EQ(error_of(recording.course(), as_read(verdict)), CourseError::kNone)
              << (attached ? "attached" : "launched") << ", seed " << seed << ", one byte in " << mean
              << ", it grows by " << recording.course().grows_bytes_per_s << " bytes/s\n"
              << text_of(verdict);
      }
}

INSTANTIATE_TEST_SUITE_P(Programs, HeapCourses, testing::ValuesIn(kCourses), [](const auto& course) {
  std::string name;
  for (const char c : course.param.name)
    if (c != '-') name += c;
  return name;
});

// Of so many seeds, those that have a verdict of this kind about this function.
int seeds_with(const std::string& course, const std::string& kind, const std::string& function,
               std::uint64_t mean, bool attached) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const CourseRecording recording({course, seed, 60, mean, attached});
    bool has = false;
    for (const HeapVerdict& verdict : verdicts_of(recording)) {
      const CourseVerdict read = as_read(verdict);
      has = has || (read.kind == kind && read.function == function);
    }
    count += has ? 1 : 0;
  }
  return count;
}

TEST(HeapCoursesAnswers, LeaksAreNamedWhereEveryCallIsSeen) {
  EXPECT_EQ(seeds_with("leak-100", "leak", "site_leak", 0, false), static_cast<int>(kSeeds));
  EXPECT_EQ(seeds_with("leak-100", "leak", "site_leak", 0, true), static_cast<int>(kSeeds));
  EXPECT_EQ(seeds_with("leak-10", "leak", "site_leak", 0, false), static_cast<int>(kSeeds));
  EXPECT_GE(seeds_with("leak-1", "leak", "site_leak", 0, false), static_cast<int>(kSeeds / 2));
}

// About 94 samples of it in a minute: the half that may be filling is reported as such, with its rate.
TEST(HeapCoursesAnswers, ALeakOfNinetySamplesIsNamed) {
  for (const bool attached : {false, true}) {
    const int named = seeds_with("leak-100", "leak", "site_leak", kFine, attached),
              open = seeds_with("leak-100", "may-level", "site_leak", kFine, attached);
    EXPECT_GE(named, 3) << attached;
    EXPECT_EQ(named + open, static_cast<int>(kSeeds)) << attached;
  }
}

TEST(HeapCoursesAnswers, ALevelHeapIsReportedAsLevelIfEveryCallIsSeen) {
  for (const char* course : {"lru", "rehash"})
    EXPECT_EQ(seeds_with(course, "level", "", 0, false), static_cast<int>(kSeeds)) << course;
}

// A vector that is made larger gives its old room back.
TEST(HeapCoursesAnswers, AContainerThatIsMadeLargerIsNoCacheWhoseBlocksAreReplaced) {
  for (const bool attached : {false, true})
    for (const std::uint64_t mean : {std::uint64_t{0}, kFine, kUsual})
      EXPECT_EQ(seeds_with("vector", "cache", "site_table", mean, attached), 0) << attached << " " << mean;
}

TEST(HeapCoursesAnswers, AFillingHeapIsReportedToGrowLessAndLess) {
  EXPECT_GE(seeds_with("filling", "may-level", "", 0, false), static_cast<int>(kSeeds / 2));
}

}  // namespace
}  // namespace fathom::analysis
