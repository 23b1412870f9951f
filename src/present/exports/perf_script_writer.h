// CPU samples as the text of `perf script -F +pid`, for tools that read nothing else: stackcollapse-perf.pl, FlameScope. In order of
// time, innermost frame first, inlined calls as perf prints them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::present {

struct PerfScriptOptions {
  analysis::Selection selection = {};  // its metric is not asked: only samples of CPU time have a time
  bool fold_generics = false;
  std::vector<std::string> comments = {};  // sentences, as lines that begin with "#"
};

// Hands out the text in pieces. kNotFound where the selection has no samples.
Result<> write_perf_script(const model::Profile& profile, const PerfScriptOptions& options,
                           const std::function<void(std::string_view)>& take);

}  // namespace fathom::present
