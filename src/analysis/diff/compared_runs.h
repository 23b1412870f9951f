// All runs of both sides as they are compared: their values cut into pieces of time and joined in one tree, and
// the totals that clocks know.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/measured.h"

namespace fathom::analysis {

struct ComparedRuns {
  std::vector<const DiffRun*> runs;  // base first; they outlive this
  std::size_t base_runs = 0;
  DiffOptions options;
  Normalization normalization = Normalization::kPerSecond;
  bool whole_runs = false;          // every run is a program from its start to its end
  std::vector<std::size_t> pieces;  // by run
  UnionTree tree;
  // CPU time by run, if that is the metric; also of threads that could not be sampled.
  std::vector<std::optional<Measured>> clocks;
  // The same where samples can divide it among functions.
  std::vector<std::optional<Measured>> divisible;

  // The metric is CPU time, and a run has no sample of it: nothing is known about its functions.
  bool unsampled = false;

  bool all_have_clocks() const;
  bool is_base(std::size_t run) const { return run < base_runs; }
  bool of_waits() const;        // the compared values include waiting time
  bool of_one_process() const;  // parts of one recording
  bool is_rate() const;         // a figure grows if the program gets more CPU in the same time
  std::size_t first_piece_of(std::size_t run) const;
  double whole_of(std::size_t run) const;  // the sum of its values
  std::vector<double> lengths() const;     // in seconds
};

// Every time is cut; the heap is recorded in slices, and live memory is not a sum over them.
ComparedRuns join_runs(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                       const DiffOptions& options);

bool is_time(model::Metric metric);

}  // namespace fathom::analysis
