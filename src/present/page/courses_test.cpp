#include "present/page/courses.h"

#include <gtest/gtest.h>

#include <numeric>

#include "analysis/core/hand_made_profile.h"

namespace fathom::page {
namespace {

const Course* line_of(const Courses& courses, const std::string& name) {
  const auto found = std::ranges::find(courses.lines, name, &Course::name);
  return found == courses.lines.end() ? nullptr : &*found;
}

analysis::HandMade busy_for(double from_s, double to_s) {
  analysis::HandMade hand;
  const auto process = hand.process(10, "server");
  const auto thread = hand.thread(process, 10, "main");
  const auto stack = hand.stack({hand.frame(hand.module("server"), {"main"})});
  hand.profile.meta.frequency_hz = 100;
  hand.profile.meta.end_ns = hand.profile.meta.start_ns + 10'000'000'000;
  for (double at = from_s; at < to_s; at += 0.01) hand.sample(thread, stack, 1, at);
  model::Series rss;
  rss.name = hand.builder.string("memory.rss_anon");
  rss.unit = hand.builder.string("bytes");
  rss.pid = 10;
  rss.points = {{hand.profile.meta.start_ns + 5'000'000'000, 1e6}};
  hand.profile.series.push_back(rss);
  return hand;
}

TEST(Courses, CpuIsInCoresAtEachTime) {
  const Courses courses = courses_of(busy_for(2, 6).profile);
  const Course* cpu = line_of(courses, "CPU");
  ASSERT_NE(cpu, nullptr);
  const double all_s = std::accumulate(cpu->values.begin(), cpu->values.end(), 0.0) * courses.step_s;
  EXPECT_NEAR(all_s, 4, 0.1) << "what is below the line is the CPU time";
  EXPECT_EQ(cpu->values.at(static_cast<std::size_t>(1 / courses.step_s)), 0);
  EXPECT_GT(cpu->values.at(static_cast<std::size_t>(4 / courses.step_s)), 0.5);
}

TEST(Courses, MemoryIsTheLastReadingAndNothingBeforeTheFirst) {
  const Courses courses = courses_of(busy_for(2, 6).profile);
  const Course* memory = line_of(courses, "Memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->values.front(), 0);
  EXPECT_EQ(memory->values.back(), 1e6);
}

TEST(Courses, LinesThatOneSideLacksAreLeftOut) {
  const Courses both = courses_of(busy_for(0, 1).profile);
  Courses less = both;
  std::erase_if(less.lines, [](const Course& line) { return line.name == "Memory"; });
  Columns columns;
  const auto head = add_courses(both, less, columns);
  EXPECT_EQ(head["lines"].size(), both.lines.size() - 1);
  EXPECT_EQ(head["lines"][0]["name"], "CPU");
  EXPECT_EQ(columns.places().size(), 2 * head["lines"].size());
}

}  // namespace
}  // namespace fathom::page
