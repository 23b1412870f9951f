#include "analysis/summary/sample_count.h"

#include <algorithm>
#include <cmath>

namespace fathom::analysis {
namespace {

// The scheduler books the time of a running thread at its ticks; the slowest kernels have a hundred in a second.
constexpr double kTick_s = 0.01;
// Measured in a virtual machine: 6 to 8 us. Twice that and more, for slower ones.
constexpr double kTimerLate_s = 20e-6;
constexpr double kWorthAWord = 0.1;  // missing, of those expected

}  // namespace

SampleCheck check(const SampleCount& count) {
  SampleCheck result;
  if (!(count.expected > 0)) return result;
  const double runs = count.runs ? static_cast<double>(*count.runs) : 0;
  // A stretch has the variance x (1 - x) of its part x of a period: at most a quarter, and at most x.
  const double of_runs = count.runs ? std::min(count.expected, runs / 4) : count.expected;
  // What ran at the first and at the last moment was read up to a tick too low.
  const double running = count.runs ? std::min<double>(count.cpus, std::max(runs, 1.0)) : count.cpus;
  const double tick = std::min(kTick_s * count.frequency_hz, count.expected);
  const double deviation = std::sqrt(of_runs + running * tick * tick / 6);
  result.error = 2 * deviation;
  if (runs > 0) result.run_s = count.expected / count.frequency_hz / runs;

  const double missing = count.expected - count.taken;
  const double noise = kWorthAWord * count.expected + 4 * deviation;
  if (-missing > result.error && count.ended_threads > 0) {
    result.verdict = SampleCheck::Verdict::kMore;
  } else if (missing > result.error) {
    const double stolen = std::clamp(count.stolen_share, 0.0, 1.0) * count.expected;
    const double late = runs * kTimerLate_s * count.frequency_hz;
    result.missing = missing;
    result.stolen = std::min(stolen, missing);
    result.late = std::min(late, missing);
    if (missing > noise + stolen + late)
      result.verdict = SampleCheck::Verdict::kTooFew;
    else if (late > stolen && late > missing / 2)
      result.verdict = SampleCheck::Verdict::kShortRuns;
    else if (stolen > missing / 2)
      result.verdict = SampleCheck::Verdict::kStolen;
  }
  return result;
}

}  // namespace fathom::analysis
