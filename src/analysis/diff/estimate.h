// One figure on both sides of a comparison, and whether its change is more than noise.
//
// Where the error comes from, the largest of what is known:
//  * sampling: n samples vary by sqrt(n); by less where a function takes nearly all of the samples that there can be;
//  * time: samples of one thread are not independent when a program has phases, so a run is cut into pieces of equal length,
//    and the spread of a function's values over them counts, also what neighbours have in common (Newey and West 1987);
//  * runs: where a side has several, their spread, with Student's t; it also stands for the one run of the other side.
// Two single runs cannot tell how far another one of the same program would be from them (addresses, neighbours on the machine,
// data that came in another order): kRunToRun of each value, of waits, of programs with phases and of what the kernel did more
// (run_spread.h), is added, which was measured (docs/performance.md).
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
  bool of_whole = false;   // the figure is a share of the run's whole
  bool whole_run = false;  // from start to end of a program: its pieces are its phases and not repetitions
  double own_spread = kRunToRun;  // of a single run of this side; 0 where both sides are of one process
  double kernel_spread = 0;       // the same of what the kernel took; 0: as of all else
  double least_spread =
      0;  // the same as a part of the run's whole, which is added: small functions vary most
};

struct Figure {
  double mean = 0;
  double variance = 0;  // of the mean
  double freedom = 0;   // degrees of freedom of the variance
  std::size_t runs = 0;
  double spread = 0;   // of several runs: the standard deviation of one, of the mean
  double assumed = 0;  // of one run: the part of the variance that its own_spread is
};

// `values`: of each piece of each run in turn; `wholes`: what all functions together have there.
Figure figure_of(std::span<const std::int64_t> values, std::span<const std::int64_t> wholes,
                 const std::vector<RunScale>& runs);

struct Change {
  double base = 0, fresh = 0;  // comparable figures
  double change = 0;           // fresh - base
  double sd = 0, freedom = 0;
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
