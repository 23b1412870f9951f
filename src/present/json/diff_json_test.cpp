#include "present/json/diff_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/diff/hand_made_sides.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

TEST(DiffJson, HasTheKeysThatScriptsRelyOn) {
  const model::Profile base = analysis::side_of_change(false), fresh = analysis::side_of_change(true);
  const std::vector<analysis::DiffReport> reports{analysis::compare_sides(base, fresh)};
  const analysis::FailCondition condition = analysis::parse_fail_condition("self > +5% : Trie::root").value();
  const auto json = nlohmann::json::parse(diff_json(
      reports, {{condition, model::Metric::kCpu, analysis::failures_of(reports.front(), condition)}}));
  EXPECT_EQ(json.at("format_version"), kDiffJsonVersion);
  EXPECT_TRUE(json.at("doubts").empty());
  EXPECT_EQ(json.at("failed").at(0).at("name"), "Trie::root");
  EXPECT_EQ(json.at("failed").at(0).at("condition"), "self > +5% : Trie::root");
  const auto& metric = json.at("metrics").at(0);
  EXPECT_EQ(metric.at("metric"), "cpu");
  EXPECT_EQ(metric.at("normalization"), "per-second");
  EXPECT_EQ(metric.at("unit"), "seconds per second");
  EXPECT_EQ(metric.at("base").at("files"), nlohmann::json::array({"old.fathom"}));
  EXPECT_EQ(metric.at("base").at("seconds"), 20);
  const auto& first = metric.at("functions").at(0);
  EXPECT_EQ(first.at("name"), "Trie::root");
  EXPECT_EQ(first.at("file"), "trie.rs");
  EXPECT_TRUE(first.at("only").is_null());
  EXPECT_TRUE(first.at("self").at("beyond_noise"));
  EXPECT_NEAR(first.at("self").at("change").get<double>(), 0.2, 1e-9);
  EXPECT_LT(first.at("self").at("p").get<double>(), 1e-6);
  EXPECT_TRUE(json.at("memory").is_null());
  EXPECT_TRUE(json.at("quality").is_null());
  const analysis::DiffQuality quality{analysis::side_quality({{&base, {}}}),
                                      analysis::side_quality({{&fresh, {}}})};
  const auto with_quality = nlohmann::json::parse(diff_json(reports, {}, nullptr, &quality));
  EXPECT_EQ(with_quality.at("quality").at("base").at("samples"), base.quality.samples);
  EXPECT_EQ(with_quality.at("quality").at("new").at("lost"), 0);
  for (const char* key : {"summary", "whole", "causes", "threads", "modules", "crates", "sizes", "lifetimes",
                          "looked_at", "level", "new"})
    EXPECT_TRUE(metric.contains(key)) << key;
}

TEST(DiffJson, OfAnyProfilesIsJson) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const model::Profile a = model::random_profile(seed), b = model::random_profile(seed + 900);
    analysis::DiffOptions options;
    options.normalization = analysis::Normalization::kAbsolute;
    analysis::DiffRun base, fresh;
    base.profile = &a;
    base.label = "\xff\x01";
    fresh.profile = &b;
    const Result<analysis::DiffReport> report = analysis::make_diff({base}, {fresh}, options);
    if (report) {
      EXPECT_TRUE(nlohmann::json::accept(diff_json({*report}, {}))) << seed;
    }
  }
}

}  // namespace
}  // namespace fathom::present
