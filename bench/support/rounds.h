// The order of every comparison: rounds, in each of which every contender runs once, and the first, a run
// without a profiler, twice, in random order. A machine gets slower and faster over the minutes: if the plain
// run were always first, every later one would look expensive. A figure is compared with the mean of the two
// plain runs of its own round; the difference of these two is the noise of the machine.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace fathom::bench {

// Calls `run` for every run of `rounds` rounds of `contenders`. The order differs each time; the environment
// variable SEED repeats one.
void run_rounds(int rounds, std::size_t contenders,
                const std::function<void(int round, std::size_t contender)>& run);

// One figure for every run, in the order of run_rounds().
class Figure {
 public:
  explicit Figure(std::size_t contenders) : rows_(contenders) {}
  void add(int round, std::size_t contender, double value);
  // All values of a contender.
  std::vector<double> values(std::size_t contender) const;
  // For each round, the ratio to the mean of the two plain runs; for the plain run itself, the ratio of the
  // two.
  std::vector<double> ratios(std::size_t contender) const;
  // The same as differences; empty for the plain run itself.
  std::vector<double> differences(std::size_t contender) const;

 private:
  // Null if the round lacks one of its two plain runs.
  const std::vector<double>* bare(std::size_t round) const;
  std::vector<std::vector<std::vector<double>>> rows_;  // by contender and round
};

}  // namespace fathom::bench
