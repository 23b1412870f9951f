#include "analysis/diff/load_evenness.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fathom::analysis {
namespace {

constexpr std::size_t kLeastSlices = 5;
constexpr double kLeastSamplesOfLoad = 100;  // with fewer, chance alone moves a twentieth of them by half

}  // namespace

std::optional<double> unevenness_of(std::span<const std::int64_t> pieces, double weight) {
  if (pieces.size() < kLeastSlices || !(weight > 0)) return std::nullopt;
  const auto count = static_cast<double>(pieces.size());
  double sum = 0;
  for (const std::int64_t piece : pieces) sum += static_cast<double>(piece);
  if (sum < kLeastSamplesOfLoad * weight) return std::nullopt;
  const double mean = sum / count;
  double squares = 0;
  for (const std::int64_t piece : pieces) {
    const double away = static_cast<double>(piece) - mean;
    squares += away * away;
  }
  const double sampling = mean * weight;  // the variance from sampling alone
  return std::sqrt(std::max(squares / (count - 1) - sampling, 0.0)) / mean;
}

std::optional<double> unevenness_of(const model::Profile& profile, const Selection& selection) {
  constexpr std::size_t kPieces = 20;
  const model::Meta& meta = profile.meta;
  if (meta.end_ns <= meta.start_ns) return std::nullopt;
  const std::uint64_t length = meta.end_ns - meta.start_ns;
  const std::uint64_t from = std::min(selection.from_ns.value_or(0), length);
  const std::uint64_t to = std::min(selection.to_ns.value_or(length), length);
  if (to - std::min(from, to) < kPieces) return std::nullopt;
  Selection of_cpu = selection;
  of_cpu.metric = model::Metric::kCpu;
  const Filter filter(profile, of_cpu);
  std::vector<std::int64_t> pieces(kPieces);
  double sum = 0, squares = 0;
  for (const model::Sample& sample : profile.all_samples()) {
    if (!filter.takes(sample) || sample.time_ns < meta.start_ns + from) continue;
    const std::uint64_t at = sample.time_ns - meta.start_ns - from;
    if (at >= to - from) continue;
    pieces[at / ((to - from + kPieces - 1) / kPieces)] += sample.value;
    const auto value = static_cast<double>(sample.value);
    sum += value;
    squares += value * value;
  }
  return sum > 0 ? unevenness_of(pieces, squares / sum) : std::nullopt;
}

}  // namespace fathom::analysis
