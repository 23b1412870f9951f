// One kind of cost as callgrind writes it, for callgrind_annotate and KCachegrind: the self cost of each line
// of each function, and the inclusive cost of each call. Source: "Callgrind Format Specification" in
// valgrind's manual. Samples do not contain call counts; the format's call count is the number of samples,
// waits or sites with this call.
#pragma once

#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct CallgrindOptions {
  analysis::Selection selection = {};
  bool fold_generics = false;
  std::string version = {};                // of fathom
  std::vector<std::string> comments = {};  // sentences: what is known about the truth of the numbers
};

// kNotFound where the selection has nothing. The costs of the functions themselves add up to the sum of the selection.
Result<std::string> write_callgrind(const model::Profile& profile, const CallgrindOptions& options);

}  // namespace fathom::present
