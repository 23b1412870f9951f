// profile.proto of the pprof project, as go tool pprof, Pyroscope, Parca and Grafana take it: one file for each kind of cost.
// Names of types and periods are those that these backends know (docs/exports.md has the table). Of the heap one file holds what
// was allocated, what is live and what was live at the peak. Addresses are those of the files' own tables, so mappings
// begin at 0 and span everything, which pprof takes as "already adjusted". A place without a name is an address in a mapping
// with its build id, and no name is made up: a server with the symbols names it later. Threads and reasons of waits are labels;
// the reason is the leaf of its stack as well, as in every picture of fathom.
#pragma once

#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct PprofOptions {
  analysis::Selection selection = {};
  bool fold_generics = false;
  std::vector<std::string> comments = {};  // sentences: what is known about the truth of the numbers
};

// Not packed. kNotFound where the selection has nothing.
Result<std::string> write_pprof(const model::Profile& profile, const PprofOptions& options);

}  // namespace fathom::present
