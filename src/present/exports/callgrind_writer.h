// One kind of cost as callgrind writes it, for callgrind_annotate and KCachegrind: what each line of each function costs itself, and
// what each call costs with all below it. Source: "Callgrind Format Specification" in valgrind's manual. How often functions were
// called is not known of samples; the number that the format asks for is that of the samples, waits or sites with this call.
#pragma once

#include <string>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct CallgrindOptions {
  analysis::Selection selection = {};
  bool fold_generics = false;
  std::string version = {};  // of fathom
};

// kNotFound where the selection has nothing. The costs of the functions themselves add up to the sum of the selection.
Result<std::string> write_callgrind(const model::Profile& profile, const CallgrindOptions& options);

}  // namespace fathom::present
