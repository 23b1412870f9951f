// Families as text that Prometheus reads. Pure. Sources: Prometheus' "Exposition formats" (text format 0.0.4), the
// OpenMetrics specification 1.0.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "linux/metrics/families.h"

namespace fathom::metrics {

enum class Format : std::uint8_t { kPrometheus, kOpenMetrics };

// Label values may hold any bytes: what would end a value or a line is escaped, and what is no UTF-8 is replaced. Names
// are the caller's and are taken as they are.
std::string write_text(std::span<const Family> families, Format format);

std::string_view content_type(Format format);
// What a client's Accept header prefers; Prometheus' own format where it does not say.
Format choose_format(std::string_view accept);

}  // namespace fathom::metrics
