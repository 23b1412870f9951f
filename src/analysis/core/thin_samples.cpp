#include "analysis/core/thin_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "analysis/core/words.h"

namespace fathom::analysis {

std::size_t thin_samples(model::Profile& profile, std::size_t most) {
  std::vector<model::Sample>& samples = profile.samples;
  if (samples.size() <= most) return 1;
  const std::size_t before = samples.size(), each = (before + most - 1) / most;
  std::ranges::stable_sort(samples, {}, &model::Sample::time_ns);
  std::mt19937_64 random(before);
  std::size_t kept = 0;
  for (std::size_t first = 0; first < before; first += each) {
    const std::size_t end = std::min(first + each, before);
    std::int64_t sum = 0;
    std::size_t chosen = first;
    for (std::size_t i = first; i < end; ++i) {
      const std::int64_t value = std::max<std::int64_t>(samples[i].value, 0);
      if (__builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
      // The i-th replaces the one before it with the probability of its part of the sum so far.
      if (sum > 0 && static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(sum)) < value)
        chosen = i;
    }
    model::Sample row = samples[chosen];
    row.value = sum;
    samples[kept++] = row;
  }
  samples.resize(kept);
  profile.quality.notes.push_back(fmt::format(
      "{} of {} samples were kept; each stands for up to {} neighbours in time, and shares have the error of {}",
      with_commas(static_cast<std::int64_t>(kept)), with_commas(static_cast<std::int64_t>(before)), each,
      counted(kept, "sample")));
  return each;
}

}  // namespace fathom::analysis
