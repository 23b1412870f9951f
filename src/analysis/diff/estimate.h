// One figure on both sides of a comparison, and whether its change is more than noise.
//
// Sources of error. Of sampling and time the larger counts, and of that and runs again the larger:
//  * sampling: n samples vary by sqrt(n); less if a function takes nearly all possible samples;
//  * time: samples of one thread are not independent if a program has phases. So a run is cut into pieces of
//    equal length, and the spread of a function's values over them counts, including the covariance of
//    neighbours (Newey and West 1987);
//  * losses: all lost samples may belong to one figure, so they widen every figure, for any number of runs;
//  * runs: if a side has several, their spread, with Student's t; it also applies to a single run of the
//    other side.
// Two single runs do not show how much another run of the same program would differ (addresses, other
// programs of the machine, data in another order). So a measured spread is added (docs/performance.md):
// kRunToRun of each value, and more for waits, programs with phases, and kernel time (run_spread.h).
//
// Totals are measured and shares are sampled: if a clock measured a run's total (RunScale::known_total), a
// figure is its sampled share of that total. The whole then has no sampling error.
//
// Many functions are compared, so some look changed by chance. Holm's procedure (1979) limits the probability
// that any unchanged function is called changed to 5 %.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace fathom::analysis {

inline constexpr std::size_t kUsualPieces = 20;  // for a run that can be cut
inline constexpr double kRunToRun = 0.01;
inline constexpr double kRunToRunOfWaits = 0.05;
// When threads waited for a CPU, other programs also used caches and changed the clock rate, which affects
// functions differently: this fraction of the waiting share is added to each share.
inline constexpr double kSpreadOfShares = 0.15;

// How a run's values become comparable.
struct RunScale {
  std::size_t pieces = 1;  // of equal length, in time order
  double factor = 1;       // from the value to the comparable figure: per second, per unit of work ...
  double weight = 1;       // the value of one independent sample; 0: every event was counted
  double most = 0;  // the largest possible value: one sample at every tick of the CPUs in use; 0: no limit
  bool of_whole = false;  // the figure is a share of the run's whole
  // The whole by a clock, as a comparable figure; figures are shares of it. 0: only the sum of samples is
  // known.
  double known_total = 0;
  bool of_work = false;    // known_total is per unit of work, which costs the same for even and uneven loads
  bool whole_run = false;  // from a program's start to its end: pieces are phases, not repetitions
  double own_spread = kRunToRun;  // of a single run of this side; 0 if both sides come from one process
  double kernel_spread = 0;       // the same for kernel time; 0: as for everything else
  double least_spread = 0;  // the same as a fraction of the run's whole, added because small functions vary
                            // most
  double lost_spread = 0;   // as a fraction of the whole: lost samples may belong to any figure
  double total_spread = 0;  // of known_total between runs: applies to each figure, as a share of it
  // The possible effect of other programs on a single run. On a free machine the figure would be at most
  // e^starved times as large, if the run got less CPU than it wanted; or at least e^-delayed times, if it
  // waited for other programs.
  double starved = 0, delayed = 0;
};

struct Figure {
  double mean = 0;
  double variance = 0;  // of the mean
  double freedom = 0;   // degrees of freedom of the variance
  std::size_t runs = 0;
  double spread = 0;   // for several runs: the standard deviation of one, as a fraction of the mean
  double assumed = 0;  // for one run: the part of the variance that comes from its own_spread
  // The part of it that is proportional to the figure, as a fraction of the figure: a run that costs fifty
  // times as much does not vary by fifty times the base.
  double assumed_part = 0;
  double starved = 0, delayed = 0;  // as in RunScale, the mean of the runs
};

// `values`: for each piece of each run in order; `wholes`: the sum over all functions there.
Figure figure_of(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                 const std::vector<RunScale>& runs);

struct Change {
  double base = 0, fresh = 0;  // comparable figures
  double change = 0;           // fresh - base
  double sd = 0, freedom = 0;
  double slack = 0;  // the part of the change that other programs may have caused; included in the error
  double base_sd = 0, fresh_sd = 0;
  double sd_of_no_change = 0;  // of the change, if both sides are the same size
  // ln of the factor by which the ratio of both sides may be too large, or too small, because of other
  // programs.
  double less = 0, more = 0;
  double p = 1;            // probability of a change at least this large if nothing changed
  double error = 0;        // half of the interval, at the level from Holm's procedure
  bool looked_at = false;  // there are enough samples to judge
  bool beyond_noise = false;
};

Change change_between(const Figure& base, const Figure& fresh);

// With at least this many runs, a side's spread also applies to a single run of the other side; with fewer it
// is too uncertain to replace the assumption.
inline constexpr std::size_t kRunsThatTell = 4;
// If `figure` is of one run: with the spread of `other`'s runs. Otherwise unchanged.
Figure with_spread_of(Figure figure, const Figure& other);

// The change of one figure over all runs, base runs first: `values` and `wholes` as in figure_of().
Change change_of_runs(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                      const std::vector<RunScale>& runs, std::size_t base_runs);

// Holm's procedure for the p-values (Change::p) of all figures judged together. `level`: the probability that
// any is called changed by mistake. Returns the level for a single figure: a smaller p is beyond noise.
double holm_level(std::vector<double> chances, double level = 0.05);

// Judges changes at the level `single`: their error, and whether they are more than noise. Caches the
// quantiles, because most figures have the same degrees of freedom.
class Judge {
 public:
  explicit Judge(double single) : single_(single) {}
  void judge(Change& change);

 private:
  double single_;
  std::unordered_map<double, double>
      deviations_;  // half an interval in standard deviations, by degrees of freedom
};
void judge(Change& change, double single);

// The smallest change in this direction that would have been beyond noise at the level `single`.
double detectable_change(const Change& change, double single);

}  // namespace fathom::analysis
