#include "formats/jemalloc/estimate.h"

#include <cmath>

namespace fathom::formats {

model::HeapWeight estimate(const DumpPair& pair, double mean_bytes) {
  const auto objects = static_cast<double>(pair.objects), bytes = static_cast<double>(pair.bytes);
  if (pair.objects == 0 || pair.bytes == 0) return {};
  if (mean_bytes <= 0) return {{objects, bytes}, {}};
  const double size = bytes / objects, share = size / mean_bytes;
  const double seen = -std::expm1(-share);
  if (!(seen > 0)) return {};  // so small that it cannot have been sampled
  const double variance = objects * std::exp(-share) / (seen * seen);
  return {{objects / seen, bytes / seen}, {variance, variance * size * size}};
}

}  // namespace fathom::formats
