#include "linux/metrics/read_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "linux/metrics/write_text.h"

namespace fathom::metrics {
namespace {

TEST(ReadText, PrometheusText) {
  const ReadMetrics read = read_text(
      "# HELP reth_jemalloc_allocated Bytes.\n"
      "# TYPE reth_jemalloc_allocated gauge\n"
      "reth_jemalloc_allocated 123456789\n"
      "\n"
      "# a remark\n"
      "# TYPE http_requests_total counter\n"
      "http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n"
      "http_requests_total{ method = \"get\" , code=\"4\\\"00\\n\\\\\", } 3\r\n"
      "no_type 1e-3\n");
  EXPECT_EQ(read.malformed_lines, 0U);
  ASSERT_EQ(read.families.size(), 3U);
  EXPECT_EQ(read.families[0].name, "reth_jemalloc_allocated");
  EXPECT_EQ(read.families[0].type, Type::kGauge);
  EXPECT_EQ(read.families[0].help, "Bytes.");
  EXPECT_EQ(read.families[0].samples[0].value, 123456789);
  EXPECT_EQ(read.families[1].name, "http_requests");
  EXPECT_EQ(read.families[1].type, Type::kCounter);
  EXPECT_EQ(read.families[1].samples[0].labels, (std::vector<Label>{{"method", "post"}, {"code", "200"}}));
  EXPECT_EQ(read.families[1].samples[1].labels,
            (std::vector<Label>{{"method", "get"}, {"code", "4\"00\n\\"}}));
  EXPECT_EQ(read.families[2].type, Type::kUnknown);
  EXPECT_EQ(read.families[2].samples[0].value, 1e-3);
}

TEST(ReadText, OpenMetrics) {
  const ReadMetrics read = read_text(
      "# TYPE foo_seconds counter\n# UNIT foo_seconds seconds\n# HELP foo_seconds A foo.\n"
      "foo_seconds_total{a=\"b\"} 17.5 1520879607.789 # {trace=\"x\"} 0.67\n"
      "foo_seconds_created{a=\"b\"} 1520872607\n"
      "# TYPE bar histogram\nbar_bucket{le=\"+Inf\"} 3\nbar_count 3\nbar_sum 9\n"
      "# TYPE build info\nbuild_info{version=\"1\"} 1\n"
      "# EOF\nafter_the_end 1\n");
  EXPECT_EQ(read.malformed_lines, 0U);
  ASSERT_EQ(read.families.size(), 3U);
  EXPECT_EQ(read.families[0].unit, "seconds");
  EXPECT_EQ(read.families[0].samples.size(), 2U);
  EXPECT_EQ(read.families[0].samples[0].value, 17.5);
  EXPECT_EQ(read.families[1].samples.size(), 3U);
  EXPECT_EQ(read.families[2].type, Type::kInfo);
}

TEST(ReadText, AGaugeAndAnotherWhoseNameIsLonger) {
  const ReadMetrics read = read_text("# TYPE foo gauge\nfoo 1\nfoo_total 2\n");
  ASSERT_EQ(read.families.size(), 2U);
  EXPECT_EQ(read.families[1].name, "foo_total");
}

TEST(ReadText, OddValues) {
  const ReadMetrics read = read_text("a NaN\nb +Inf\nc -Inf\nd +5\ne -0.5e3\n");
  EXPECT_EQ(read.malformed_lines, 0U);
  ASSERT_EQ(read.families.size(), 5U);
  EXPECT_TRUE(std::isnan(read.families[0].samples[0].value));
  EXPECT_TRUE(std::isinf(read.families[1].samples[0].value));
  EXPECT_EQ(read.families[3].samples[0].value, 5);
  EXPECT_EQ(read.families[4].samples[0].value, -500);
}

TEST(ReadText, WhatMakesNoSenseIsCountedAndTheRestIsRead) {
  for (const char* line :
       {"foo", "foo ", "foo bar", "foo{", "foo{a}", "foo{a=} 1", "foo{a=\"} 1", "foo{a=\"b\" c=\"d\"} 1",
        "1foo 1", "{} 1", "foo{1a=\"b\"} 1", "foo{a=\"b\"}", "foo 1x", "foo ++1", "foo 1 later", "foo 0x10",
        "# TYPE foo thing", "# TYPE", "foo 1e999"}) {
    const ReadMetrics read = read_text(std::string("good 1\n") + line + "\nfine 2\n");
    EXPECT_EQ(read.malformed_lines, 1U) << line;
    EXPECT_EQ(read.families.size(), 2U) << line;
  }
}

TEST(ReadText, EveryPrefixIsRead) {
  const std::string text = "# HELP a x\n# TYPE a counter\na_total{b=\"c\\n\"} 1 2 # {d=\"e\"} 3\nf 4\n";
  for (std::size_t size = 0; size <= text.size(); ++size)
    EXPECT_LE(read_text(std::string_view(text).substr(0, size)).malformed_lines, 1U) << size;
}

TEST(ReadText, NothingGrowsBeyondItsBounds) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "m" + std::to_string(i) + " 1\n";
  const ReadMetrics few = read_text(text, {.samples = 10, .families = 100, .labels = 2, .text_bytes = 8});
  EXPECT_EQ(few.families.size(), 10U);
  EXPECT_EQ(few.dropped_samples, 90U);
  EXPECT_EQ(read_text(text, {.samples = 100, .families = 7}).families.size(), 7U);
  EXPECT_EQ(read_text("a{b=\"1\",c=\"2\",d=\"3\"} 1\n", {.labels = 2}).malformed_lines, 1U);
  EXPECT_EQ(read_text("a{b=\"123456789\"} 1\n", {.text_bytes = 8}).malformed_lines, 1U);
  EXPECT_EQ(read_text("a23456789 1\n", {.text_bytes = 8}).malformed_lines, 1U);
}

TEST(ReadText, WhatIsWrittenIsReadAgain) {
  const std::vector<Family> families{
      {"x_bytes", Type::kGauge, "bytes", "An x.", {{"x_bytes", {{"process", "a\"} 1\nb\\"}}, 4096}}},
      {"y", Type::kCounter, "", "A y.", {{"y_total", {}, 0.1}, {"y_total", {{"k", ""}}, 1e300}}}};
  for (const Format format : {Format::kPrometheus, Format::kOpenMetrics}) {
    const ReadMetrics read = read_text(write_text(families, format));
    EXPECT_EQ(read.malformed_lines, 0U);
    ASSERT_EQ(read.families.size(), families.size());
    for (std::size_t i = 0; i < families.size(); ++i) {
      EXPECT_EQ(read.families[i].name, families[i].name);
      EXPECT_EQ(read.families[i].type, families[i].type);
      ASSERT_EQ(read.families[i].samples.size(), families[i].samples.size());
      for (std::size_t j = 0; j < families[i].samples.size(); ++j) {
        EXPECT_EQ(read.families[i].samples[j].labels, families[i].samples[j].labels);
        EXPECT_EQ(read.families[i].samples[j].value, families[i].samples[j].value);
      }
    }
  }
}

}  // namespace
}  // namespace fathom::metrics
