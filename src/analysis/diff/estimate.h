// One figure on both sides of a comparison, and whether its change is more than noise.
//
// Where the error comes from; of sampling and time, and of these and runs, the larger:
//  * sampling: n samples vary by sqrt(n); by less where a function takes nearly all of the samples that there can be;
//  * time: samples of one thread are not independent when a program has phases, so a run is cut into pieces of equal length,
//    and the spread of a function's values over them counts, also what neighbours have in common (Newey and West 1987);
//  * losses: what was lost may all have been of one figure; they widen each, however many runs there are;
//  * runs: where a side has several, their spread, with Student's t; it also stands for the one run of the other side.
// Two single runs cannot tell how far another one of the same program would be from them (addresses, neighbours on the machine,
// data that came in another order): kRunToRun of each value, of waits, of programs with phases and of what the kernel did more
// (run_spread.h), is added, which was measured (docs/performance.md).
//
// Totals are measured and shares are sampled: where a clock knows what a run used (RunScale::known_total), a figure is its
// sampled share of that total. The whole then has no sampling error.
//
// Many functions are looked at, so many have a chance to look changed. Holm's procedure (1979) keeps the chance that any
// that did not change is called changed at 5 %.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace fathom::analysis {

inline constexpr std::size_t kUsualPieces = 20;  // of a run that can be cut
inline constexpr double kRunToRun = 0.01;
inline constexpr double kRunToRunOfWaits = 0.05;
// Where threads waited for a CPU, neighbours also took caches and let the clock rate vary, which is not the same for every
// function: so much of the part of the time that was waited is added to each share.
inline constexpr double kSpreadOfShares = 0.15;

// How values of one run become comparable ones.
struct RunScale {
  std::size_t pieces = 1;  // of equal length, in time order
  double factor = 1;       // from the value to the comparable figure: of a second, of a unit of work ...
  double weight = 1;       // what one independent sample is worth; 0: every event was counted
  double most = 0;  // the largest value there could be: one hit at every tick of the CPUs in use; 0: no limit
  bool of_whole = false;  // the figure is a share of the run's whole
  // What the whole comes to by a clock, as a comparable figure; figures are shares of it. 0: the samples' sum is all there is.
  double known_total = 0;
  bool of_work = false;    // known_total is of a unit of work, which costs the same however even the load was
  bool whole_run = false;  // from start to end of a program: its pieces are its phases and not repetitions
  double own_spread = kRunToRun;  // of a single run of this side; 0 where both sides are of one process
  double kernel_spread = 0;       // the same of what the kernel took; 0: as of all else
  double least_spread =
      0;                   // the same as a part of the run's whole, which is added: small functions vary most
  double lost_spread = 0;  // as a part of the whole: what was lost may have been of any figure
  double total_spread = 0;  // of known_total between runs: of each figure, as it is a part of that
  // What other programs on the machine may have done to a single run: on a free machine the figure would be at most e^starved
  // times as large, as it had less of the CPUs than it wanted; or at least e^-delayed times, as it waited for them.
  double starved = 0, delayed = 0;
};

struct Figure {
  double mean = 0;
  double variance = 0;  // of the mean
  double freedom = 0;   // degrees of freedom of the variance
  std::size_t runs = 0;
  double spread = 0;   // of several runs: the standard deviation of one, of the mean
  double assumed = 0;  // of one run: the part of the variance that its own_spread is
  // Of that, what is proportional to the figure, as a part of it: a run that costs fifty times as much does not vary by fifty
  // times the base.
  double assumed_part = 0;
  double starved = 0, delayed = 0;  // as RunScale has them, the mean of the runs
};

// `values`: of each piece of each run in turn; `wholes`: what all functions together have there.
Figure figure_of(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                 const std::vector<RunScale>& runs);

struct Change {
  double base = 0, fresh = 0;  // comparable figures
  double change = 0;           // fresh - base
  double sd = 0, freedom = 0;
  double slack = 0;  // so much of the change other programs may have done; part of the error
  double base_sd = 0, fresh_sd = 0;
  // ln of how many times smaller, or larger, than it seems the quotient of both sides may be by what others did.
  double less = 0, more = 0;
  double p = 1;            // of a change at least as large where nothing has changed
  double error = 0;        // half of the interval at the level that Holm's procedure came to
  bool looked_at = false;  // enough samples to say anything
  bool beyond_noise = false;
};

Change change_between(const Figure& base, const Figure& fresh);

// From so many runs of one side their spread is taken for the single run of the other one; of fewer it is too uncertain to be
// below what is assumed.
inline constexpr std::size_t kRunsThatTell = 4;
// `figure` of one run with the spread that `other`'s runs have; any other figure as it is.
Figure with_spread_of(Figure figure, const Figure& other);

// The same figure of all runs, those of base first: `values` and `wholes` as in figure_of().
Change change_of_runs(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                      const std::vector<RunScale>& runs, std::size_t base_runs);

// Holm's procedure for the chances (Change::p) of all that is looked at together. `level`: the chance that any is called
// changed by mistake. Returns the level of a single one: what has a smaller p is beyond noise.
double holm_level(std::vector<double> chances, double level = 0.05);

// What `single` makes of changes: their error, and whether they are more than noise. Most of those that are judged together
// have the same degrees of freedom.
class Judge {
 public:
  explicit Judge(double single) : single_(single) {}
  void judge(Change& change);

 private:
  double single_;
  std::unordered_map<double, double>
      deviations_;  // half an interval, in standard deviations, by degrees of freedom
};
void judge(Change& change, double single);

}  // namespace fathom::analysis
