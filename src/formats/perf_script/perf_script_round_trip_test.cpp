// What present/exports writes as perf script, as this folder reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/call_tree.h"
#include "analysis/core/hand_made_profile.h"
#include "formats/import/import_testing.h"
#include "formats/perf_script/perf_script.h"
#include "model/random_profile.h"
#include "present/exports/perf_script_writer.h"

namespace fathom::formats {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string script_of(const model::Profile& profile, const present::PerfScriptOptions& options = {}) {
  std::string text;
  const auto written =
      present::write_perf_script(profile, options, [&text](std::string_view piece) { text += piece; });
  return written ? text : "nothing: " + written.error().message;
}

TEST(PerfScriptRoundTrip, EverySampleIsKept) {
  model::for_each_profile(30, [](const model::Profile& profile) {
    const analysis::CallTree tree = analysis::build_call_tree(profile, {});
    const std::string text = script_of(profile);
    if (text.starts_with("nothing")) return;
    ASSERT_TRUE(is_perf_script(text)) << text.substr(0, 300);
    const auto read = read_perf_script(text, "x");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->samples.size(), tree.samples);
  });
}

TEST(PerfScriptRoundTrip, ASampleHasItsThreadTimePeriodAndStack) {
  model::Profile profile = analysis::small_server();
  profile.meta.frequency_hz = 100;
  const std::string text = script_of(profile, {.comments = {"900 samples, 3 lost.", "a\nb"}});
  EXPECT_THAT(text, HasSubstr("# 900 samples, 3 lost.\n"));
  EXPECT_THAT(text, HasSubstr("10000000 cpu-clock: \n"));
  EXPECT_THAT(text, HasSubstr(" ksys_write ([kernel.kallsyms])\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\nworker-1 [0-9]+/[0-9]+ \\[[0-9]+\\] [0-9]+\\.[0-9]{9}: "));
  const auto read = read_perf_script(text, "x");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(total_of(*read, model::Metric::kCpu), 9'000'000'000);
}

TEST(PerfScriptRoundTrip, NothingSelectedIsAnError) {
  EXPECT_THAT(script_of(analysis::small_server(), {.selection = {.pid = 4711}}),
              StartsWith("nothing: process 4711 is not in the recording"));
}

}  // namespace
}  // namespace fathom::formats
