#include "cli/allocation_rate.h"

#include <fmt/format.h>

#include <cmath>

#include "analysis/core/heap.h"
#include "analysis/core/words.h"
#include "base/parse.h"
#include "cli/selection_options.h"

namespace fathom::cli {

Result<double> allocation_rate(const std::string& text) {
  if (const auto megabytes = parse_number<double>(text)) {
    if (!(*megabytes > 0) || !std::isfinite(*megabytes))
      return fail(ErrorKind::kUsage,
                  fmt::format("--alloc-rate '{}': expected a number above 0", analysis::printable(text)),
                  "--alloc-rate 100, in megabytes per second; or a recording");
    return *megabytes * 1e6;
  }
  const Result<model::Profile> profile = open_with_names(text, {}, "");
  if (!profile) return within("--alloc-rate", profile.error());
  double bytes = 0, seconds = 0;
  if (!profile->heap.empty()) {
    const analysis::HeapSums sums(*profile, {.metric = model::Metric::kHeapAllocated});
    bytes = sums.total().allocated.bytes.value;
    seconds = sums.window_s();
  }
  if (!(seconds > 0) || !(bytes > 0))
    return fail(ErrorKind::kNotFound,
                fmt::format("--alloc-rate {}: it has no allocations over time", analysis::printable(text)),
                "fathom record --heap -d 10 -o FILE.fathom -p PID");
  return bytes / seconds;
}

}  // namespace fathom::cli
