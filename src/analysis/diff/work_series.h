// How much work a recording did, from one of its series: a counter of requests, blocks or transactions that
// grew during the recording. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

// The growth of all series of this name together ("http_requests_total"; with labels,
// "http_requests_total{code=\"200\"}", every set of them) from `from_ns` to `to_ns`, both from the start of
// the recording; nullopt: its own start and end. Growth between two points is spread evenly over the time
// between them. A counter that restarts from 0 continues. kNotFound if there is no such series, and kUsage if
// it is not a counter or did not grow.
Result<double> work_of_series(const model::Profile& profile, std::string_view name,
                              std::optional<std::uint64_t> from_ns, std::optional<std::uint64_t> to_ns);

// Whether the recording has a series of this name.
bool has_series(const model::Profile& profile, std::string_view name);

}  // namespace fathom::analysis
