// The call graph of one kind of cost in the language of graphviz: functions with what they cost themselves and with all that they
// call, calls with what goes through them. What is too small is left out, and the picture says how much; a chain of calls through
// functions that were left out is a dashed line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct DotOptions {
  analysis::Selection selection = {};
  bool fold_generics = false;
  std::uint32_t most_functions = 80;       // those with the largest totals; 0: all
  double least_share = 0.005;              // of the whole: functions and calls with less are left out
  std::vector<std::string> comments = {};  // lines below the title
};

// kNotFound where the selection has nothing.
Result<std::string> write_dot(const model::Profile& profile, const DotOptions& options);

}  // namespace fathom::present
