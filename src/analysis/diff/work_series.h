// How much work a recording did, read off one of its series: a counter of requests, blocks, transactions that grew while it
// was recorded. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

// By how much all series of this name ("http_requests_total"; with labels behind it, "http_requests_total{code=\"200\"}",
// every set of them) grew together from `from_ns` to `to_ns`, both from the start of the recording; nothing: its own start
// and end. What happened between two points is shared out evenly over the time between them. A counter that begins again
// from 0 is counted on. kNotFound where there is no such series, and kUsage for one that is no counter or did not grow.
Result<double> work_of_series(const model::Profile& profile, std::string_view name,
                              std::optional<std::uint64_t> from_ns, std::optional<std::uint64_t> to_ns);

// Whether the recording has a series of this name.
bool has_series(const model::Profile& profile, std::string_view name);

}  // namespace fathom::analysis
