// What present/exports writes in callgrind's format, as this folder reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/words.h"
#include "formats/import/import_testing.h"
#include "formats/valgrind/callgrind.h"
#include "model/exact_count.h"
#include "model/random_profile.h"
#include "present/exports/callgrind_writer.h"

namespace fathom::formats {
namespace {

using model::Metric;
using testing::HasSubstr;

std::map<std::string, std::int64_t> self_by_name(const model::Profile& profile, Metric metric) {
  const analysis::CallTree tree = analysis::build_call_tree(profile, {.selection = {.metric = metric}});
  std::map<std::string, std::int64_t> sums;
  for (const analysis::TreeNode& node : tree.nodes) {
    const bool of_nothing =
        node.kind == analysis::NodeKind::kThread || node.kind == analysis::NodeKind::kRoot;
    const std::string name = analysis::printable(tree.name(node));
    if (node.self != 0) sums[of_nothing || name.empty() ? "[unknown]" : name] += node.self;
  }
  return sums;
}

TEST(CallgrindRoundTrip, CostsOfFunctionsOfEveryMetricAreKept) {
  std::size_t seen = 0;
  model::for_each_profile(60, [&](const model::Profile& profile) {
    for (const Metric metric : analysis::metrics_in(profile)) {
      SCOPED_TRACE(model::to_string(metric));
      const std::int64_t total = total_of(profile, metric);
      const auto written = present::write_callgrind(profile, {.selection = {.metric = metric}});
      EXPECT_EQ(written.has_value(), total != 0);
      // The reader refuses what no program of this world costs.
      if (!written || total > std::int64_t{1} << 50) continue;
      const auto read = read_callgrind(*written, "x");
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(total_of(*read, Metric::kCpu), total);
      EXPECT_FALSE(model::counts_all(*read)) << "samples do not become exact";
      const auto costs = self_by_name(*read, Metric::kCpu), known = self_by_name(profile, metric);
      ASSERT_EQ(costs.size(), known.size());
      // Estimates become whole numbers one after the other, and a tree has another order.
      const auto rounded = model::is_heap(metric) ? static_cast<double>(profile.heap.sites.size()) : 0;
      for (const auto& [name, value] : known)
        EXPECT_NEAR(static_cast<double>(costs.at(name)), static_cast<double>(value), rounded) << name;
      EXPECT_THAT(*written, HasSubstr("\ntotals: " + std::to_string(total) + "\n"));
      ++seen;
    }
  });
  EXPECT_GT(seen, 20U);
}

TEST(CallgrindRoundTrip, LinesAreThoseOfTheCallsAndRecursionCountsOnce) {
  analysis::HandMade hand;
  const auto app = hand.module("app");
  const auto thread = hand.thread(hand.process(7, "app"), 7, "app");
  const auto place = [&](const char* name, std::uint32_t line) {
    return hand.builder.frame_with_lines(app, {}, {{name, "/src/app.c", line}});
  };
  const auto main = place("main", 3), walk_in = place("walk", 12), walk = place("walk", 14);
  hand.sample(thread, hand.stack({main, walk_in, walk_in, walk}), 5);
  hand.sample(thread, hand.stack({main, walk}), 2);
  const std::string text = present::write_callgrind(hand.profile, {.version = "fathom 9"}).value();
  EXPECT_THAT(text, testing::StartsWith("# callgrind format\nversion: 1\ncreator: fathom 9\npid: 7\n"));
  EXPECT_THAT(text, HasSubstr("events: cpu\nsummary: 7\n"));
  EXPECT_THAT(text, HasSubstr("\nob=(1) /usr/bin/app\nfl=(1) /src/app.c\nfn=(1) walk\n14 7\n"
                              "cob=(1)\ncfi=(1)\ncfn=(1)\ncalls=5 0\n12 5\n"));
  EXPECT_THAT(text, HasSubstr("fn=(2) main\ncob=(1)\ncfi=(1)\ncfn=(1)\ncalls=7 0\n3 7\n"));
}

}  // namespace
}  // namespace fathom::formats
