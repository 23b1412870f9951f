// What a recording calls the metrics of its target: series "metric.NAME{LABELS}", and units of counters end in a word.
#pragma once

#include <string_view>

namespace fathom::metrics {

inline constexpr std::string_view kRecordedPrefix = "metric.";
inline constexpr std::string_view kCountedSuffix = ", counted";  // "bytes, counted"

}  // namespace fathom::metrics
