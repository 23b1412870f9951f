#include "model/unsampled.h"

#include <algorithm>

#include "model/facts.h"

namespace fathom::model {
namespace {

constexpr double kExpected = 20;      // samples: of fewer, chance may take all
constexpr double kWorthAWord = 0.05;  // of the CPU time

}  // namespace

std::optional<Unsampled> find_unsampled(const Meta& meta, const SamplingFigures& figures) {
  if (!figures.cpu_s || !(*figures.cpu_s > 0) || meta.frequency_hz == 0) return std::nullopt;
  const auto facts = facts_of<SamplingFacts>(meta);
  Unsampled found{
      .cpu_s = *figures.cpu_s, .share = 1, .why = facts.not_sampled, .remedy = facts.not_sampled_try};
  if (figures.samples == 0) {
    // Other events may not have happened.
    if (found.why.empty() && (meta.event != "cpu-clock" || figures.lost != 0)) return std::nullopt;
    if (*figures.cpu_s * meta.frequency_hz < kExpected) return std::nullopt;
    found.all = true;
    return found;
  }
  if (!figures.whole || !facts.not_sampled_cpu_ms) return std::nullopt;
  found.cpu_s = std::min(static_cast<double>(*facts.not_sampled_cpu_ms) * 1e-3, *figures.cpu_s);
  found.share = found.cpu_s / *figures.cpu_s;
  if (found.share < kWorthAWord) return std::nullopt;
  return found;
}

bool has_thread_times(const Profile& profile) {
  return std::ranges::any_of(profile.threads, [](const Thread& thread) {
    return thread.ran_ns != 0 || thread.waited_ns != 0 || thread.queued_ns != 0;
  });
}

}  // namespace fathom::model
