// Processed profiles of the Firefox Profiler, version 63: the last one with counters that describe themselves and plain stack
// tables; newer viewers upgrade it when they load it. Samples stand at their times, a thread each. Waits are threads of their own,
// "worker (off-CPU)", whose weights are the time, with a marker for each that names its reason and who ended it. Amounts of the heap
// are threads "(live heap)" and "(allocated)", recorded memory is a counter. Crates and namespaces are the subcategories of the
// program's own code.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct FirefoxOptions {
  analysis::Selection selection = {};  // its metric is not asked
  bool fold_generics = false;
  std::size_t most_markers = 100'000;      // the longest waits
  std::string version = {};                // of fathom
  std::vector<std::string> comments = {};  // sentences: what is known about the truth of the numbers
};

// kNotFound where the selection has neither samples nor waits nor a heap.
Result<std::string> write_firefox(const model::Profile& profile, const FirefoxOptions& options);

}  // namespace fathom::present
