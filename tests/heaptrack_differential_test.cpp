// heaptrack's file from a recording, as heaptrack_print reads it; and heaptrack itself on a program that
// books every call of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/heap_answer.h"

namespace fathom::support {
namespace {

// "calls to allocation functions: 248125 (125632/s)", "peak heap memory consumption: 31.12M"
double printed(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key + ": ");
  if (at == std::string::npos) return -1;
  char* end = nullptr;
  const double value = std::strtod(text.c_str() + at + key.size() + 2, &end);
  return value * (*end == 'G' ? 1e9 : *end == 'M' ? 1e6 : *end == 'K' ? 1e3 : 1);
}

class Heaptrack : public testing::Test {
 protected:
  // The cost of all stacks with this function, by heaptrack's own folded stacks.
  std::map<std::string, double> costs(const std::string& file, const std::string& kind,
                                      const std::map<std::string, double>& sites) {
    const std::string folded = folder_ / "folded";
    const Outcome outcome = run({"heaptrack_print", "-f", file, "-F", folded, "--flamegraph-cost-type", kind,
                                 "--disable-builtin-suppressions"});
    EXPECT_TRUE(outcome.ok()) << outcome.describe();
    std::map<std::string, double> sums;
    for (const auto& [site, unused] : sites) sums[site] = 0;
    std::ifstream lines(folded);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t space = line.rfind(' ');
      const std::string stack = ";" + line.substr(0, space);
      for (auto& [site, sum] : sums)
        if (stack.find(";" + site + ";") != std::string::npos) sum += std::atof(line.c_str() + space);
    }
    return sums;
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

TEST_F(Heaptrack, ReadsOurFileAndShowsTheSameNumbers) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  FATHOM_NEEDS_PROGRAM("heaptrack_print");
  const Outcome outcome =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", KNOWN_HEAP, "800", "3"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  const HeapNumbers numbers = answer.of_allocators();
  double temporary = 0;
  for (const model::HeapRow& row : answer.profile().heap.rows) temporary += row.temporary.blocks;
  const auto at_the_peak = static_cast<double>(answer.profile().heap.sites.size() + 6);
  ASSERT_LT(at_the_peak, temporary / 100);

  for (const char* name : {"x.heaptrack", "x.heaptrack.gz", "x.heaptrack.zst"}) {
    const std::string file = folder_ / name;
    const Outcome exported = fathom({"export", recording_, "-o", file});
    ASSERT_TRUE(exported.ok()) << exported.describe();
    const Outcome said = run({"heaptrack_print", "-f", file, "--disable-builtin-suppressions"});
    ASSERT_TRUE(said.ok()) << said.describe();
    EXPECT_EQ(printed(said.output, "calls to allocation functions"), numbers.calls) << name;
    // One that was live at the peak cannot be both there and temporary. Of each site that is the blocks of its threads
    // (three, and three that they start), or one block that has the bytes which its site had then.
    EXPECT_THAT(printed(said.output, "temporary memory allocations"),
                testing::AllOf(testing::Ge(temporary - at_the_peak), testing::Le(temporary)))
        << name;
    // Printed with two digits behind the point.
    EXPECT_NEAR(printed(said.output, "total memory leaked"), numbers.live_bytes, 5.1) << name;
    const double peak = answer.heap().peak_bytes;
    EXPECT_NEAR(printed(said.output, "peak heap memory consumption"), peak, peak < 1e6 ? 5.1 : 5001) << name;
  }
  const auto calls = answer_of(outcome, "calls");
  EXPECT_EQ(costs(folder_ / "x.heaptrack.zst", "allocations", calls), calls);
  EXPECT_EQ(costs(folder_ / "x.heaptrack.zst", "leaked", calls), answer_of(outcome, "live_bytes"));
}

TEST_F(Heaptrack, AgreesOnEveryStackWhereItSeesTheCalls) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  FATHOM_NEEDS_PROGRAM("heaptrack");
  const std::vector<std::string> program{KNOWN_HEAP, "500", "1"};
  std::vector<std::string> theirs{"heaptrack", "-o", folder_ / "heaptrack"};
  theirs.insert(theirs.end(), program.begin(), program.end());
  const Outcome tracked = run(theirs);
  std::string file = folder_ / "heaptrack.zst";
  if (!std::filesystem::exists(file)) file = folder_ / "heaptrack.gz";  // where zstd is not installed
  if (!tracked.ok() || !std::filesystem::exists(file)) GTEST_SKIP() << "heaptrack: " << tracked.describe();
  std::vector<std::string> ours{"record", "--heap=exact", "--lossless", "-o", recording_, "--"};
  ours.insert(ours.end(), program.begin(), program.end());
  const Outcome outcome = fathom(ours);
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  const auto truth = answer_of(outcome, "calls");
  const auto calls = costs(file, "allocations", truth), leaked = costs(file, "leaked", truth);
  for (const auto& [site, count] : truth) {
    const HeapNumbers numbers = answer.below(site);
    EXPECT_EQ(numbers.calls, count) << site;
    // Seen with heaptrack 1.4: it does not hook memalign(), a third of these calls, and takes realloc to 0,
    // which frees, for a new block.
    if (site == "site_aligned" || site == "site_shrunk") continue;
    EXPECT_EQ(calls.at(site), numbers.calls) << site;
    EXPECT_EQ(leaked.at(site), numbers.live_bytes) << site;
  }
}

TEST_F(Heaptrack, LeaksAreThoseOfTheTruth) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom({"record", "--leaks", "-o", recording_, "--", KNOWN_HEAP, "500", "2"});
  EXPECT_EQ(outcome.exit_status, 5) << outcome.describe();
  const auto total = [&](const char* key) {
    const auto parts = answer_of(outcome, key);
    return std::accumulate(parts.begin(), parts.end(), 0.0,
                           [](double sum, const auto& part) { return sum + part.second; });
  };
  const std::string expected =
      "in " + std::to_string(std::lround(total("live_calls"))) + " blocks never freed";
  EXPECT_THAT(outcome.errors, testing::HasSubstr(expected));
  EXPECT_THAT(outcome.errors, testing::HasSubstr("#0  site_leaked (known_heap)"));

  std::ofstream(folder_ / "known.supp") << "# all of them\nleak:^site_*\n";
  const Outcome none = fathom({"leaks", recording_, "--suppressions", folder_ / "known.supp"});
  EXPECT_EQ(none.exit_status, 0) << none.describe();
  EXPECT_THAT(none.output, testing::HasSubstr("known.supp:2"));
}

}  // namespace
}  // namespace fathom::support
