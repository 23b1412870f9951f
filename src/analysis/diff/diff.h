// Compares two sides, base and new: what differs, and whether that is more than noise. Facts for sentences,
// tables, pictures and scripts. A side is one recording, a part of one, or several runs.
//
//   union_tree   all runs joined by names that survive builds
//   estimate     a figure on both sides, its error, and which changes are more than noise
//   doubts       reasons not to compare these sides
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
  kCpuSecond,  // of the CPU time recorded along with it
  kWork,       // per unit of work: DiffRun::work
};
std::string_view to_string(Normalization normalization);  // "per-second": the user's spelling
std::optional<Normalization> normalization_from(std::string_view name);

struct DiffOptions {
  model::Metric metric = model::Metric::kCpu;
  std::optional<Normalization> normalization = {};  // none: the one that suits the metric and the inputs
  bool fold_generics = false;
  bool whole_matters = false;  // do not choose shares by default, because they say nothing about the whole
};

// The unit of a report's figures.
enum class DiffUnit : std::uint8_t {
  kOfCore,  // CPU or waiting time per second: 1 is one core, or one thread, all the time
  kShare,
  kNs,
  kBytes,
  kCount,
};

struct DiffRow {
  std::string name;
  std::string module;  // "" if none
  NodeKind kind = NodeKind::kUser;
  std::string file;        // without folders, from the side that has it; empty if unknown
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
  double unmatched = 0;       // share of its values in code without a name that both sides share, 0 to 1
  double by_code = 0;         // share in functions without a name that were matched by their code
  // How much its runs differ in total: their standard deviation, as a fraction of the mean. Unknown for a
  // single run.
  std::optional<double> spread = {};
  // How much its load varied over time (load_evenness.h); for several runs, the highest known value.
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
  std::string count_unit;  // for kCount: "samples", "allocations"
  std::string counted;     // for metric cpu if its values are not CPU time: "instructions"
  std::string work;        // for kWork: the name of a unit
  DiffSide base, fresh;
  std::vector<Doubt> doubts;
  bool whole_runs = false;   // programs from their start to their end
  double own_spread = 0;     // assumed for a single run, as a fraction of each figure
  double kernel_spread = 0;  // the same for the kernel's part; 0: the kernel used nothing
  bool busy_machine =
      false;  // shares were chosen because threads waited for a CPU (cpu_wait_share()) and each side is a
              // single run
  bool exact = false;  // every event was counted: there is no sampling error
  Change whole;
  bool whole_is_judged = true;  // false for shares: the whole is always 1
  // CPU time measured by a clock (measured.h), if known for all runs. Functions are then sampled shares of
  // it, and it is the whole unless only shares are compared. `per`: its normalization, because shares have no
  // unit.
  std::optional<MeasuredTotal> measured;
  std::vector<DiffRow> rows;  // functions; by |change of self|, largest first, ties by name
  std::vector<DiffGroup> causes, threads, modules;  // by |change|
  std::vector<DiffGroup> crates;  // crates of Rust, namespaces of C++; code outside of both is in no row
  // For heap-allocations if whole recordings are compared: by requested size and by lifetime, ascending.
  std::vector<DiffGroup> sizes, lifetimes;
  std::size_t looked_at = 0;  // number of figures judged together
  double level = 0.05;        // for a single figure, after Holm's correction
  UnionTree tree;
  std::vector<double>
      run_factors;  // by run: from a value to the comparable figure, divided by the number of runs on its
                    // side
  std::size_t base_runs = 0;
};

// Both sides have at least one run, and all profiles have passed check(). kUsage if units do not fit the
// normalization (no time, no work), kNotFound if a side has no values of the metric.
Result<DiffReport> make_diff(const std::vector<DiffRun>& base, const std::vector<DiffRun>& fresh,
                             const DiffOptions& options);

// Per node of the report's tree: its comparable self figure, base and new.
struct NodeFigures {
  std::vector<double> base, fresh;
};
NodeFigures node_figures(const DiffReport& report);

}  // namespace fathom::analysis
