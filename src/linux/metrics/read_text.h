// Text of Prometheus or OpenMetrics to families. Pure. Sources: Prometheus' "Exposition formats" (0.0.4), the OpenMetrics
// specification 1.0. Bytes of a stranger: what makes no sense is left out and counted, and everything is bounded.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "linux/metrics/families.h"

namespace fathom::metrics {

struct ReadBounds {
  std::size_t samples = 100'000;
  std::size_t families = 20'000;
  std::size_t labels = 64;        // of a sample
  std::size_t text_bytes = 4096;  // of a name, a value of a label, a help
};

struct ReadMetrics {
  std::vector<Family> families;  // in the order of the text
  std::size_t malformed_lines = 0;
  std::size_t dropped_samples = 0;  // beyond the bounds
};

// Samples without a TYPE are families of their own, of unknown type. Time stamps and exemplars are not kept: a value is as
// old as the scrape.
ReadMetrics read_text(std::string_view text, ReadBounds bounds = {});

}  // namespace fathom::metrics
