// Comparisons without a valid quotient: fathom rejects each such pair of profiles, or compares it by another
// figure that both have.
#include <gtest/gtest.h>

#include "analysis/diff/measured_runs.h"
#include "analysis/diff/totals.h"

namespace fathom::analysis {
namespace {

enum class Is { kCompared, kShares, kRefused };

struct DivisionCase {
  const char* name;
  void (*change)(model::Profile& fresh);  // applied to one of two equal recordings
  std::optional<Normalization> asked;
  Is expected;
};

model::Profile attached() {
  return measured_run({.whole_run = false});
}

void nothing(model::Profile&) {}
void other_event(model::Profile& fresh) {
  fresh.meta.event = "instructions";
}
void other_unit(model::Profile& fresh) {
  fresh.meta.facts["unit"] = "page-faults";
}
void no_clock(model::Profile& fresh) {
  fresh.meta.end_ns = fresh.meta.start_ns = 0;
}
void differences(model::Profile& fresh) {
  for (std::size_t i = 0; i < fresh.samples.size(); i += 3) fresh.samples[i].value = -1;
}

TEST(Division, HappensOnlyIfThereIsAQuotient) {
  using N = Normalization;
  const std::vector<DivisionCase> table = {
      {"equal", nothing, {}, Is::kCompared},
      {"equal, per second", nothing, N::kPerSecond, Is::kCompared},
      {"two events", other_event, {}, Is::kShares},
      {"two events, per second", other_event, N::kPerSecond, Is::kRefused},
      {"two events, absolute", other_event, N::kAbsolute, Is::kRefused},
      {"two events, shares", other_event, N::kShare, Is::kShares},
      {"two units", other_unit, {}, Is::kShares},
      {"two units, absolute", other_unit, N::kAbsolute, Is::kRefused},
      {"no clock", no_clock, {}, Is::kShares},
      {"no clock, per second", no_clock, N::kPerSecond, Is::kRefused},
      {"differences", differences, {}, Is::kCompared},
      {"differences, shares", differences, N::kShare, Is::kRefused},
  };
  for (const DivisionCase& row : table) {
    model::Profile base = attached(), fresh = base;
    base.meta.event = fresh.meta.event = "cpu-clock";
    row.change(fresh);
    DiffRun a, b;
    a.profile = &base;
    b.profile = &fresh;
    DiffOptions options;
    options.normalization = row.asked;
    const Result<DiffReport> there = make_diff({a}, {b}, options), back = make_diff({b}, {a}, options);
    for (const Result<DiffReport>* report : {&there, &back}) {
      ASSERT_EQ(report->has_value(), row.expected != Is::kRefused) << row.name;
      if (!*report) {
        EXPECT_EQ(report->error().kind, ErrorKind::kUsage) << row.name;
        EXPECT_FALSE(report->error().remedy.empty()) << row.name;
        continue;
      }
      EXPECT_EQ((*report)->normalization == N::kShare, row.expected == Is::kShares) << row.name;
    }
  }
}

// A rate needs times, and so does a total given as a rate.
TEST(Division, WithoutAClockNoTotalIsARate) {
  model::Profile base = attached(), fresh = base;
  no_clock(fresh);
  DiffRun a, b;
  a.profile = &base;
  b.profile = &fresh;
  for (const Total& total : make_totals({a}, {b}, {make_diff({a}, {b}, {}).value()}))
    EXPECT_NE(total.per, Normalization::kPerSecond) << static_cast<int>(total.kind);
}

}  // namespace
}  // namespace fathom::analysis
