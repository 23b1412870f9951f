#include "analysis/summary/section.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analysis/summary/report.h"

namespace fathom::analysis {
namespace {

TEST(Section, EveryNameIsOfOneSection) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kSectionCount; ++i) {
    const auto section = static_cast<Section>(i);
    EXPECT_EQ(section_from(to_string(section)), section);
    names.insert(to_string(section));
  }
  EXPECT_EQ(names.size(), kSectionCount);
  EXPECT_FALSE(section_from("wait"));
  EXPECT_FALSE(section_from(""));
}

TEST(Section, ASetHasWhatWasAdded) {
  Sections sections{Section::kWaits, Section::kTimeline};
  sections.add(Section::kHeap, false);
  EXPECT_TRUE(sections.has(Section::kWaits));
  EXPECT_TRUE(sections.has(Section::kTimeline));
  EXPECT_FALSE(sections.has(Section::kHeap));
  EXPECT_EQ(sections.size(), 2u);
  EXPECT_TRUE(sections.has_any({Section::kLocks, Section::kWaits}));
  EXPECT_FALSE(sections.has_any({Section::kLocks}));
  EXPECT_TRUE(sections.is_within({Section::kTimeline, Section::kLocks, Section::kWaits}));
  EXPECT_FALSE(sections.is_within({Section::kWaits}));
  EXPECT_TRUE(Sections().is_within({}));
  EXPECT_TRUE(Sections().empty());
  EXPECT_EQ(Sections::all().size(), kSectionCount);
}

TEST(Section, OfARecordingWithoutItsDataIsFound) {
  Report report;
  EXPECT_FALSE(not_recorded(report, {Section::kFunctions, Section::kThreads}));
  EXPECT_EQ(not_recorded(report, {Section::kThreads, Section::kFiles}), Section::kFiles);
  EXPECT_EQ(not_recorded(report, {Section::kMemory}), Section::kMemory);
  report.waits.emplace();
  EXPECT_FALSE(not_recorded(report, {Section::kWaits, Section::kLocks, Section::kFiles}));
  EXPECT_EQ(not_recorded(report, {Section::kWaits, Section::kHeap}), Section::kHeap);
}

}  // namespace
}  // namespace fathom::analysis
