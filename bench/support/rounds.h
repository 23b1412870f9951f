// The order of every comparison: rounds, in each of which every contender runs once, and the first, which is nothing,
// twice, in random order. A machine gets slower and faster over the minutes: with nothing always first, whatever
// comes after it looks dear. A figure stands against the mean of the two runs of nothing of its own round, and how
// far these two lie apart is what the machine alone does.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace fathom::bench {

// Calls `run` for every run of `rounds` rounds of `contenders`. The order is another one each time; SEED of the
// environment repeats one.
void run_rounds(int rounds, std::size_t contenders,
                const std::function<void(int round, std::size_t contender)>& run);

// One figure of every run, in the order of run_rounds().
class Figure {
 public:
  explicit Figure(std::size_t contenders) : rows_(contenders) {}
  void add(int round, std::size_t contender, double value);
  // All values of a contender.
  std::vector<double> values(std::size_t contender) const;
  // Of each round, to the mean of the two runs of nothing; of nothing itself, one of the two to the other.
  std::vector<double> ratios(std::size_t contender) const;
  // The same as differences; of nothing itself none.
  std::vector<double> differences(std::size_t contender) const;

 private:
  // Nothing if a round has not both runs of nothing.
  const std::vector<double>* bare(std::size_t round) const;
  std::vector<std::vector<std::vector<double>>> rows_;  // contender, round
};

}  // namespace fathom::bench
