// Two sides, base and new, to what differs between them and whether that is more than noise: facts for sentences, tables,
// pictures and scripts. A side is one recording, a part of one, or several runs.
//
//   union_tree   all runs joined by names that survive builds
//   estimate     a figure on both sides, its error, and which changes are more than noise
//   doubts       why the sides should not be compared
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/selection.h"
#include "analysis/diff/diff_run.h"
#include "analysis/diff/doubts.h"
#include "analysis/diff/estimate.h"
#include "analysis/diff/union_tree.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

enum class Normalization : std::uint8_t {
  kPerSecond,  // of the recording's time
  kAbsolute,   // as recorded
  kShare,      // of all of the side's values
  kCpuSecond,  // of the CPU time that was recorded beside it
  kWork,       // of a unit of work: DiffRun::work
};
std::string_view to_string(Normalization normalization);  // "per-second": what users type
std::optional<Normalization> normalization_from(std::string_view name);

struct DiffOptions {
  model::Metric metric = model::Metric::kCpu;
  std::optional<Normalization> normalization = {};  // none: what suits the metric and the inputs
  bool fold_generics = false;
  bool whole_matters = false;  // shares are not what suits, as they say nothing of the whole
};

// What the figures of a report count.
enum class DiffUnit : std::uint8_t {
  kOfCore,  // CPU or waiting time per second: 1 is one core, or one thread, all the time
  kShare,
  kNs,
  kBytes,
  kCount,
};

struct DiffRow {
  std::string name;
  std::string module;  // "" for none
  NodeKind kind = NodeKind::kUser;
  std::string file;        // without folders, of the side that has it; empty if unknown
  std::uint32_t line = 0;  // 0 if unknown
  Change self, total;
  bool is_new() const { return total.base == 0 && total.fresh != 0; }
  bool is_gone() const { return total.fresh == 0 && total.base != 0; }
};

struct DiffGroup {
  std::string name;
  Change self;
};

struct DiffSide {
  std::vector<std::string> labels;
  double seconds = 0;         // mean of the runs; 0 if unknown
  std::uint64_t samples = 0;  // of all runs
  double unmatched = 0;       // share of its values in code that has no name in common, 0 to 1
  double by_code = 0;         // share in functions without a name that were found by their code
  // How far its runs lie apart in the whole: their standard deviation, of the mean. Of one run it is not known.
  std::optional<double> spread = {};
  // How its load varied over time (load_evenness.h); of several runs the most, where it is known of any.
  std::optional<double> unevenness = {};
};

struct MeasuredTotal {
  Change change;
  Normalization per = Normalization::kPerSecond;
  DiffUnit unit = DiffUnit::kOfCore;
};

struct DiffReport {
  model::Metric metric = model::Metric::kCpu;
  Normalization normalization = Normalization::kPerSecond;
  DiffUnit unit = DiffUnit::kOfCore;
  std::string count_unit;  // of kCount: "samples", "allocations"
  std::string counted;     // of metric cpu where its values are no CPU time: "instructions"
  std::string work;        // of kWork: what a unit is called
  DiffSide base, fresh;
  std::vector<Doubt> doubts;
  bool whole_runs = false;   // programs from their start to their end
  double own_spread = 0;     // that is assumed of a single run, a part of each figure
  double kernel_spread = 0;  // the same of what the kernel took; 0: it took nothing
  bool busy_machine =
      false;  // shares were chosen, as threads waited for a CPU (cpu_wait_share()) and runs are single
  bool exact = false;  // every event was counted: there is no sampling error
  Change whole;
  bool whole_is_judged = true;  // a share of all is always 1
  // CPU time by a clock (measured.h), where one knows it of all runs. Then functions are sampled shares of it, and it is the
  // whole unless only shares are compared. `per`: what it is of, as figures of shares are of nothing.
  std::optional<MeasuredTotal> measured;
  std::vector<DiffRow> rows;  // functions; by |change of self|, largest first, equal ones by name
  std::vector<DiffGroup> causes, threads, modules;  // by |change|
  std::vector<DiffGroup> crates;  // crates of Rust, namespaces of C++; code of none is in no row
  // Of heap-allocations, where all of a recording is compared: by size as asked for and by life until freed, in order.
  std::vector<DiffGroup> sizes, lifetimes;
  std::size_t looked_at = 0;  // figures that were judged together
  double level = 0.05;        // of a single one, after Holm's correction
  UnionTree tree;
  std::vector<double>
      run_factors;  // by run: from a value to the comparable figure, divided by the runs of its side
  std::size_t base_runs = 0;
};

// Both sides have at least one run, all profiles have passed check(). kUsage where units do not fit the normalisation (no
// time, no work), kNotFound where a side has nothing of the metric.
Result<DiffReport> make_diff(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                             const DiffOptions& options);

// Per node of the report's tree: its comparable figure without what it calls, base and new.
struct NodeFigures {
  std::vector<double> base, fresh;
};
NodeFigures node_figures(const DiffReport& report);

}  // namespace fathom::analysis
