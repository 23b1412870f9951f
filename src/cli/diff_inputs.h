// The two sides that fathom diff compares: each of one recording, of a part of one, or of several runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/diff/diff_run.h"
#include "base/result.h"
#include "cli/selection_options.h"
#include "model/profile.h"

namespace fathom::cli {

struct DiffSides {
  std::vector<std::string> files;
  std::vector<std::string> base, fresh;  // more runs, or ranges of one file
  SelectionOptions selection;
  std::string work_name;
  std::vector<double> work_base, work_fresh;  // one number for all runs of a side, or one for each
};

// Files, each read once, and what is compared of them.
struct DiffInput {
  model::Profile profile;
  std::vector<std::uint64_t> codes;  // of functions without a name
};
struct DiffInputs {
  std::map<std::string, std::unique_ptr<DiffInput>> files;
  std::vector<analysis::DiffRun> base, fresh;
};

// Reads both sides, and how much work each run did. kUsage: not two sides, no such range, or work that does not fit the runs.
Result<DiffInputs> open_sides(const DiffSides& sides);

}  // namespace fathom::cli
