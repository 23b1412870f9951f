// A list of recordings, and what cleaning removes, for people and scripts. Names come from recordings: they are made printable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shelf/recordings.h"
#include "tools/shelf/retention.h"

namespace fathom::shelf {

// Newest first. `width` 0: lines are not shortened.
std::string list_text(const std::vector<Recording>& recordings, std::size_t width);
std::string list_json(const std::vector<Recording>& recordings);

// One line per removed recording with its reason, then the sum. `done`: they are gone; otherwise they would go. `what`: they are
// "recording", "heap dump" ...
std::string removal_text(const std::vector<Recording>& recordings, const std::vector<Removal>& removals,
                         bool done, std::string_view what = "recording");

// CLOCK_REALTIME as "2026-03-01 12:30:05" in UTC; "-" for 0.
std::string utc_time(std::uint64_t unix_ns);

}  // namespace fathom::shelf
