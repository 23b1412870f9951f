#include "present/sentences/diff_sentences.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fathom::present {
namespace {

using analysis::DiffUnit;
using analysis::Normalization;
using analysis::Total;
using analysis::TotalKind;

// Of CPU time, with a relative error of a twentieth on either side.
Total cpu(double base_s, double new_s) {
  Total total;
  total.change.base = base_s * 1e9;
  total.change.fresh = new_s * 1e9;
  total.change.change = total.change.fresh - total.change.base;
  total.change.base_sd = total.change.base / 40;
  total.change.fresh_sd = total.change.fresh / 40;
  total.change.sd = std::hypot(total.change.base_sd, total.change.fresh_sd);
  total.change.freedom = 1e6;
  total.change.error = 2 * total.change.sd;
  total.change.looked_at = total.change.beyond_noise = true;
  total.ratio = analysis::ratio_of(total.change);
  return total;
}

TEST(TotalSentence, SaysFromWhatToWhatAndHowMuchMoreOrLess) {
  const auto quiet = [](Total total) {
    total.change.beyond_noise = false;
    return total;
  };
  const auto per_second = [](Total total) {
    total.per = Normalization::kPerSecond;
    total.unit = DiffUnit::kOfCore;
    total.change.base *= 1e-9;
    total.change.fresh *= 1e-9;
    return total;
  };
  const auto sampled = [](Total total) {
    total.sampled = true;
    return total;
  };
  const std::vector<std::pair<Total, const char*>> table = {
      {cpu(3.7, 0.07), "CPU time 3.70 s → 70 ms, down by a factor of 53 (49 to 57)"},
      {cpu(1, 2.3), "CPU time 1.00 s → 2.30 s, up by a factor of 2.3 (2.1 to 2.5)"},
      {cpu(1, 1.5), "CPU time 1.00 s → 1.50 s, 50.0 % more (40.0 % to 60.8 %)"},
      {cpu(1.5, 1), "CPU time 1.50 s → 1.00 s, 33.3 % less (28.5 % to 37.8 %)"},
      {quiet(cpu(1, 1.01)), "CPU time 1.00 s → 1.01 s: no more than noise (±7.0 %)"},
      {cpu(1, 1), "CPU time 1.00 s → 1.00 s: the same"},
      {cpu(0, 1), "CPU time 0 s → 1.00 s, new"},
      {cpu(1, 0), "CPU time 1.00 s → 0 s, gone"},
      {per_second(cpu(0.1, 0.3)), "CPU time per second 10.0 % → 30.0 %, up by a factor of 3.0 (2.8 to 3.2)"},
      {sampled(cpu(1, 2)),
       "CPU time, estimated from samples, 1.00 s → 2.00 s, up by a factor of 2.0 (1.9 to 2.1)"},
  };
  for (const auto& [total, sentence] : table) EXPECT_EQ(total_sentence(total, ""), sentence);
}

TEST(TotalSentence, NamesWhatIsCounted) {
  Total total = cpu(1e-7, 3e-7);
  total.unit = DiffUnit::kCount;
  total.kind = TotalKind::kCalls;
  total.name = "parse\x1b[31m";
  EXPECT_EQ(total_sentence(total, "").find("Calls of parse?[31m 100 → 300"), 0u);
  total.kind = TotalKind::kWaits;
  total.name = "sync";
  total.per = Normalization::kWork;
  EXPECT_EQ(total_sentence(total, "request").find("Waits (sync) per request 100 → 300"), 0u);
  total.change.looked_at = false;
  EXPECT_EQ(total_sentence(total, "request"), "Waits (sync) per request 100 → 300: too few to compare");
}

// "new has 5860.2 % ± 116.8 more heap bytes" made the reader divide.
TEST(DiffHeadline, SpeaksOfTimesFromTwiceOn) {
  analysis::DiffReport report;
  report.metric = model::Metric::kHeapPeak;
  report.normalization = Normalization::kAbsolute;
  report.unit = DiffUnit::kBytes;
  report.whole = cpu(2.5e-3, 150e-3).change;
  EXPECT_EQ(
      diff_headline(report),
      "new has more heap bytes at the peak than base, by a factor of 60 (56 to 64): 2.4 MiB → 143.1 MiB.");
  report.whole = cpu(100e-3, 130e-3).change;
  EXPECT_EQ(diff_headline(report).find("new has 30.0 % ± "), 0u);
}

}  // namespace
}  // namespace fathom::present
