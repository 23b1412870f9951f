#include "linux/metrics/write_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace fathom::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<Family> kWrittenFamilies{
    {"fathom_rss_bytes",
     Type::kGauge,
     "bytes",
     "Resident memory.",
     {{"fathom_rss_bytes", {{"process", "reth"}}, 4096}}},
    {"fathom_faults", Type::kCounter, "", "Faults.", {{"fathom_faults_total", {{"kind", "minor"}}, 7}}}};

TEST(WriteText, PrometheusKnowsACounterByTheNameOfItsSamples) {
  EXPECT_EQ(write_text(kWrittenFamilies, Format::kPrometheus),
            "# HELP fathom_rss_bytes Resident memory.\n"
            "# TYPE fathom_rss_bytes gauge\n"
            "fathom_rss_bytes{process=\"reth\"} 4096\n"
            "# HELP fathom_faults_total Faults.\n"
            "# TYPE fathom_faults_total counter\n"
            "fathom_faults_total{kind=\"minor\"} 7\n");
}

TEST(WriteText, OpenMetricsHasUnitsAndAnEnd) {
  EXPECT_EQ(write_text(kWrittenFamilies, Format::kOpenMetrics),
            "# HELP fathom_rss_bytes Resident memory.\n"
            "# TYPE fathom_rss_bytes gauge\n"
            "# UNIT fathom_rss_bytes bytes\n"
            "fathom_rss_bytes{process=\"reth\"} 4096\n"
            "# HELP fathom_faults Faults.\n"
            "# TYPE fathom_faults counter\n"
            "fathom_faults_total{kind=\"minor\"} 7\n"
            "# EOF\n");
}

TEST(WriteText, AHostileNameStaysInsideOfItsLabel) {
  const std::vector<Family> families{
      {"x",
       Type::kGauge,
       "",
       "",
       {{"x", {{"process", "a\"} 1\nx{process=\"b\\ \xff\x1b[2J\xed\xa0\x80"}}, 1}}}};
  EXPECT_THAT(write_text(families, Format::kPrometheus),
              HasSubstr("x{process=\"a\\\"} 1\\nx{process=\\\"b\\\\ "
                        "\xef\xbf\xbd?[2J\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"} 1\n"));
}

TEST(WriteText, CharactersBeyondAsciiStay) {
  const std::vector<Family> families{{"x", Type::kGauge, "", "", {{"x", {{"process", "größe 量 😀"}}, 1}}}};
  EXPECT_THAT(write_text(families, Format::kPrometheus), HasSubstr("größe 量 😀"));
}

TEST(WriteText, HelpIsOneLineAndItsQuotesAreEscapedIfTheFormatRequiresIt) {
  const std::vector<Family> families{{"x", Type::kGauge, "", "a \"b\"\nc", {{"x", {}, 1}}}};
  EXPECT_THAT(write_text(families, Format::kPrometheus), HasSubstr("# HELP x a \"b\"\\nc\n"));
  EXPECT_THAT(write_text(families, Format::kOpenMetrics), HasSubstr("# HELP x a \\\"b\\\"\\nc\n"));
}

TEST(WriteText, ValuesAreExactAndOddOnesHaveTheirNames) {
  const auto value = [](double number) {
    const std::vector<Family> families{{"x", Type::kGauge, "", "", {{"x", {}, number}}}};
    const std::string text = write_text(families, Format::kOpenMetrics);
    const std::size_t start = text.find("\nx ") + 3;
    return text.substr(start, text.find('\n', start) - start);
  };
  EXPECT_EQ(value(4398046511104), "4398046511104");
  EXPECT_EQ(value(-12), "-12");
  EXPECT_EQ(value(0.1), "0.1");
  EXPECT_EQ(value(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(value(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(value(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(value(1e300), "1e+300");
}

TEST(WriteText, AFamilyWithoutSamplesIsLeftOut) {
  const std::vector<Family> families{{"x", Type::kGauge, "", "", {}}};
  EXPECT_EQ(write_text(families, Format::kPrometheus), "");
}

TEST(ChooseFormat, AsTheClientPrefers) {
  EXPECT_EQ(choose_format(""), Format::kPrometheus);
  EXPECT_EQ(choose_format("*/*"), Format::kPrometheus);
  EXPECT_EQ(choose_format("text/plain;version=0.0.4"), Format::kPrometheus);
  // As Prometheus 2.42 asks.
  EXPECT_EQ(
      choose_format(
          "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
      Format::kOpenMetrics);
  EXPECT_EQ(choose_format("application/openmetrics-text;version=1.0.0;q=0.2, text/plain;q=0.9"),
            Format::kPrometheus);
  EXPECT_EQ(choose_format("application/openmetrics-text;version=9.0.0"), Format::kPrometheus);
  EXPECT_EQ(choose_format("application/openmetrics-text;q=zero"), Format::kPrometheus);
  EXPECT_EQ(choose_format(";;;,,,q=,;q"), Format::kPrometheus);
}

}  // namespace
}  // namespace fathom::metrics
