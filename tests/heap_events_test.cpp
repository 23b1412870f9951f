// The lives of single blocks of a program that knows them: filters by size, lifetime, thread, address and
// time give exactly the counts that it knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "analysis/summary/report.h"
#include "base/files.h"
#include "model/store/reader.h"
#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/heap_answer.h"

namespace fathom::support {
namespace {

using testing::HasSubstr;

class HeapEvents : public testing::Test {
 protected:
  void record(const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"record"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"-o", recording_, "--", KNOWN_BLOCKS});
    const Outcome outcome = fathom(arguments);
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    truth_ = answer_of(outcome);
  }
  HeapAnswer with(const store::HeapBlockFilter& filter) const {
    store::ReadOptions options;
    options.blocks = filter;
    return HeapAnswer(recording_, options);
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
  std::map<std::string, double> truth_;
};

// Blocks of the program's five sites, in their order.
std::vector<double> calls(const HeapAnswer& answer) {
  std::vector<double> calls;
  for (const char* site : {"site_short_lived", "site_long", "site_handed", "site_leaked", "site_sized"})
    calls.push_back(answer.below(site).calls);
  return calls;
}

TEST_F(HeapEvents, FiltersGiveExactlyWhatTheProgramKnows) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  record({"--heap=exact", "--lossless", "--each-block"});
  const double short_lived = truth_["short_lived"], lasting = truth_["long"], handed = truth_["handed"],
               leaked = truth_["leaked"], sized = truth_["sized"];
  const HeapAnswer whole(recording_);
  ASSERT_EQ(calls(whole), (std::vector{short_lived, lasting, handed, leaked, sized})) << whole.losses();
  EXPECT_EQ(whole.heap().lost_blocks, 0u);

  // Nothing chosen: the lives of all blocks add up to what the collector counted, in each slice.
  const HeapAnswer all = with({});
  const auto sums = [](const HeapAnswer& answer) {
    std::map<std::pair<model::HeapSliceId, model::HeapSiteId>, std::vector<double>> made;
    for (const model::HeapRow& row : answer.profile().heap.rows)
      if (answer.profile().heap.heaps[answer.profile().heap.sites[row.site.value].heap.value].each_block)
        made[{row.slice, row.site}] = {row.allocated.blocks, row.allocated.bytes,  row.freed.blocks,
                                       row.freed.bytes,      row.temporary.blocks, row.short_lived.blocks};
    return made;
  };
  EXPECT_EQ(sums(all), sums(whole));
  EXPECT_THAT(all.profile().quality.notes, testing::Not(testing::Contains(HasSubstr("are not listed"))));

  store::HeapBlockFilter filter;
  filter.least_size = 1;
  filter.most_size = 100;
  EXPECT_EQ(calls(with(filter)), (std::vector{short_lived, 0.0, 0.0, 0.0, 100.0}));
  filter.least_size = 1000;
  filter.most_size = 3000;
  EXPECT_EQ(calls(with(filter)), (std::vector{0.0, lasting, 0.0, 0.0, 2001.0}));

  filter = {};
  filter.least_lifetime_ns = 250'000'000;  // what is live at the end has lived for longer
  EXPECT_EQ(calls(with(filter)), (std::vector{0.0, lasting, 0.0, leaked, 0.0}));
  filter.most_lifetime_ns = 20'000'000'000;
  EXPECT_EQ(calls(with(filter)), (std::vector{0.0, lasting, 0.0, 0.0, 0.0}));

  filter = {};
  filter.leaked = true;
  EXPECT_EQ(calls(with(filter)), (std::vector{0.0, 0.0, 0.0, leaked, 0.0}));
  filter = {};
  filter.freed_by = "freer";
  EXPECT_EQ(calls(with(filter)), (std::vector{0.0, 0.0, handed, 0.0, 0.0}));

  filter = {};
  const auto address = static_cast<std::uint64_t>(truth_["leaked_address"]);
  filter.first_address = address + 69'999;  // its last byte
  EXPECT_EQ(calls(with(filter))[3], 1.0);
  filter.first_address = address;
  filter.end_address = address + 1;
  const HeapAnswer one = with(filter);
  EXPECT_EQ(one.below("site_leaked").live_bytes, 70'000);

  filter = {};
  filter.alive_at_ns = static_cast<std::uint64_t>(truth_["middle_ns"]) - whole.profile().meta.start_ns;
  EXPECT_EQ(calls(with(filter)), (std::vector{0.0, lasting, 0.0, leaked, 0.0}));
  filter = {};
  filter.freed_after_ns = static_cast<std::uint64_t>(truth_["middle_ns"]) - whole.profile().meta.start_ns;
  EXPECT_EQ(calls(with(filter)), (std::vector{0.0, lasting, handed, 0.0, 0.0}));
}

TEST_F(HeapEvents, OptionsOfTheCommandLineReachEveryCommand) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  record({"--heap=exact", "--lossless", "--each-block"});
  const std::vector<std::string> chosen{"--size", "68KiB:70KB", "--leaked"};
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), chosen.begin(), chosen.end());
    const Outcome outcome = fathom(arguments);
    EXPECT_TRUE(outcome.ok()) << outcome.describe();
    return outcome.output;
  };
  const auto heap = nlohmann::json::parse(run({"report", recording_, "--json", "--blocks"})).at("heap");
  EXPECT_EQ(heap.at("live").at("blocks"), truth_["leaked"]);
  EXPECT_EQ(heap.at("peak").at("bytes"), truth_["leaked"] * 70'000);
  ASSERT_EQ(heap.at("blocks").size(), truth_["leaked"]);
  EXPECT_EQ(heap.at("blocks")[0].at("size"), 70'000);
  EXPECT_EQ(heap.at("blocks")[0].at("function"), "site_leaked");
  EXPECT_EQ(run({"export", recording_, "--to", "folded", "--metric", "heap-live"}).find("site_long"),
            std::string::npos);
  EXPECT_THAT(run({"flamegraph", recording_, "--metric", "heap-live", "-o", "-"}), HasSubstr("site_leaked"));
  EXPECT_THAT(run({"report", recording_, "--blocks"}), HasSubstr("site_leaked"));
  EXPECT_THAT(run({"leaks", recording_, "--no-fail"}), HasSubstr("site_leaked"));

  const Outcome odd = fathom({"report", recording_, "--size", "many"});
  EXPECT_FALSE(odd.ok());
  EXPECT_THAT(odd.errors, HasSubstr("'many' is not a number of bytes"));
}

TEST_F(HeapEvents, WithoutEventsTheRemedyIsNamed) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  record({"--heap=exact", "--lossless"});
  const Outcome outcome = fathom({"report", recording_, "--leaked"});
  EXPECT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.errors, HasSubstr("the lives of single blocks were not recorded"));
  EXPECT_THAT(outcome.errors, HasSubstr("fathom record --heap=exact --each-block"));
}

TEST_F(HeapEvents, SampledBlocksStandForTheirShare) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  record({"--heap", "--heap-interval", "4096", "--each-block"});
  store::HeapBlockFilter filter;
  filter.least_size = 2000;
  const HeapAnswer whole(recording_), all = with({}), large = with(filter);
  EXPECT_NEAR(all.all().bytes, whole.all().bytes, 1e-6 * whole.all().bytes);
  EXPECT_EQ(large.below("site_short_lived").calls, 0);
  const HeapNumbers leaked = large.below("site_leaked");
  EXPECT_EQ(leaked.live_calls, leaked.calls);
  EXPECT_NEAR(leaked.calls, truth_["leaked"], 0.01);  // larger than the interval: seen for sure
}

// 200 files that end at random places, with and without lives of blocks.
TEST_F(HeapEvents, FilesThatWereCutAreReadUpToTheirLastWholeBlock) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  record({"--heap=exact", "--lossless", "--each-block"});
  const std::string content = read_file(recording_).value();
  const HeapNumbers most = HeapAnswer(recording_).all();
  std::mt19937_64 random(1);
  int with_heap = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string part = content.substr(0, random() % content.size());
    for (const bool each : {false, true}) {
      store::ReadOptions options;
      if (each) options.blocks.emplace();
      const auto profile = store::read_bytes(std::as_bytes(std::span(part)), "part", options);
      if (!profile) {
        // Before its first block, or before the heap.
        ASSERT_TRUE(part.size() < 24 || each) << profile.error().message;
        continue;
      }
      EXPECT_TRUE(profile->quality.truncated);
      const auto report = analysis::make_report(*profile, {});
      ASSERT_TRUE(report) << report.error().message;
      double blocks = 0, bytes = 0;
      for (const model::HeapRow& row : profile->heap.rows) {
        blocks += row.allocated.blocks;
        bytes += row.allocated.bytes;
      }
      EXPECT_LE(blocks, most.calls);
      EXPECT_LE(bytes, most.bytes);
      with_heap += report->heap ? 1 : 0;
    }
  }
  EXPECT_GT(with_heap, 20);
}

}  // namespace
}  // namespace fathom::support
