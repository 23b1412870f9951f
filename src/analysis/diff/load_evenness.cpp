#include "analysis/diff/load_evenness.h"

#include <algorithm>
#include <cmath>

namespace fathom::analysis {
namespace {

constexpr std::size_t kLeastPieces = 5;
constexpr double kLeastSamples = 100;  // with fewer, chance alone moves a twentieth of them by half

}  // namespace

std::optional<double> unevenness_of(std::span<const std::int64_t> pieces, double weight) {
  if (pieces.size() < kLeastPieces || !(weight > 0)) return std::nullopt;
  const auto count = static_cast<double>(pieces.size());
  double sum = 0;
  for (const std::int64_t piece : pieces) sum += static_cast<double>(piece);
  if (sum < kLeastSamples * weight) return std::nullopt;
  const double mean = sum / count;
  double squares = 0;
  for (const std::int64_t piece : pieces) {
    const double away = static_cast<double>(piece) - mean;
    squares += away * away;
  }
  const double sampling = mean * weight;  // the variance that so many samples have by themselves
  return std::sqrt(std::max(squares / (count - 1) - sampling, 0.0)) / mean;
}

}  // namespace fathom::analysis
