// Times of day and dates, for --from and --until: "02:00", "02:00:30", "2026-11-27T02:00", the same with a Z for UTC,
// "yesterday 02:00", "now", "-10m". Without a Z they are in the local time zone. Pure but for that zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::cli {

// CLOCK_REALTIME in ns. A time without a date is the last one that is not after `now_unix_ns`. nullopt: the text is none of these.
std::optional<std::uint64_t> clock_time(std::string_view text, std::uint64_t now_unix_ns);

// The same inside of a recording, which "now" is the end of: a time without a date is on the day on which it is nearest to the
// recording.
std::optional<std::uint64_t> clock_time_in(std::string_view text, std::uint64_t start_unix_ns,
                                           std::uint64_t end_unix_ns);

}  // namespace fathom::cli
