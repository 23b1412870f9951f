#include "analysis/core/uncounted.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

using model::ImportFacts;
using model::Metric;

std::string uncounted_metrics(const ImportFacts& facts) {
  model::Profile profile;
  model::put_facts(facts, profile.meta);
  std::string words;
  for (int i = 0; i <= static_cast<int>(model::kLastMetric); ++i) {
    const auto metric = static_cast<Metric>(i);
    if (const auto why = uncounted(profile, metric))
      words += std::string(model::to_string(metric)) + " " + std::to_string(static_cast<int>(*why)) + ", ";
  }
  return words;
}

TEST(Uncounted, EachKindOfFileLacksWhatItsFactsSay) {
  EXPECT_EQ(uncounted_metrics({}), "") << "a recording";
  EXPECT_EQ(uncounted_metrics({.heap_lives = "temporary only"}), "heap-short-lived 0, ") << "heaptrack";
  EXPECT_EQ(uncounted_metrics({.heap_lives = "not known"}), "heap-temporary 0, heap-short-lived 0, ")
      << "DHAT";
  EXPECT_EQ(uncounted_metrics({.no_allocated = true}), "heap-allocated 1, heap-allocations 1, ");
  EXPECT_EQ(uncounted_metrics({.no_live = true}), "heap-live 2, heap-peak 2, heap-leaked 2, heap-growth 2, ")
      << "pprof's allocs";
  EXPECT_EQ(uncounted_metrics({.heap_source = "dump"}),
            "heap-peak 3, heap-temporary 0, heap-short-lived 0, ");
  EXPECT_EQ(uncounted_metrics({.heap_source = "dumps"}), "heap-temporary 0, heap-short-lived 0, ");
  EXPECT_EQ(uncounted_metrics({.heap_source = "dump", .heap_lives = "temporary only"}),
            "heap-peak 3, heap-temporary 0, heap-short-lived 0, ")
      << "one moment has no lifetimes";
}

// The list of metrics and the check of what the user asks for may not disagree.
TEST(Uncounted, MetricsOfAHeapAreThoseThatAreCounted) {
  for (const char* source : {"", "dump", "dumps"})
    for (const char* lives : {"", "temporary only", "not known"})
      for (const bool no_allocated : {false, true})
        for (const bool no_live : {false, true}) {
          model::Profile profile;
          profile.heap.heaps.emplace_back();
          model::put_facts(ImportFacts{.heap_source = source,
                                       .heap_lives = lives,
                                       .no_allocated = no_allocated,
                                       .no_live = no_live},
                           profile.meta);
          std::vector<Metric> counted;
          for (int i = static_cast<int>(Metric::kHeapAllocated); i <= static_cast<int>(model::kLastMetric);
               ++i)
            if (!uncounted(profile, static_cast<Metric>(i))) counted.push_back(static_cast<Metric>(i));
          EXPECT_EQ(metrics_in(profile), counted) << source << ", " << lives;
        }
}

}  // namespace
}  // namespace fathom::analysis
