#include "model/unsampled.h"

#include <algorithm>
#include <charconv>

namespace fathom::model {
namespace {

constexpr double kExpected = 20;      // samples: of fewer, chance may take all
constexpr double kWorthAWord = 0.05;  // of the CPU time

std::string text_of(const Meta& meta, const char* fact) {
  const auto found = meta.facts.find(fact);
  return found == meta.facts.end() ? "" : found->second;
}

std::optional<double> seconds_of(const Meta& meta) {
  const std::string text = text_of(meta, kNotSampledMsFact);
  std::uint64_t ms = 0;
  if (text.empty() || std::from_chars(text.data(), text.data() + text.size(), ms).ec != std::errc{})
    return std::nullopt;
  return static_cast<double>(ms) * 1e-3;
}

}  // namespace

std::optional<Unsampled> find_unsampled(const Meta& meta, const SamplingFigures& figures) {
  if (!figures.cpu_s || !(*figures.cpu_s > 0) || meta.frequency_hz == 0) return std::nullopt;
  Unsampled found{.cpu_s = *figures.cpu_s,
                  .share = 1,
                  .why = text_of(meta, kNotSampledFact),
                  .remedy = text_of(meta, kNotSampledTryFact)};
  if (figures.samples == 0) {
    // Other events may not have happened.
    if (found.why.empty() && (meta.event != "cpu-clock" || figures.lost != 0)) return std::nullopt;
    if (*figures.cpu_s * meta.frequency_hz < kExpected) return std::nullopt;
    found.all = true;
    return found;
  }
  const auto unsampled_s = seconds_of(meta);
  if (!figures.whole || !unsampled_s) return std::nullopt;
  found.cpu_s = std::min(*unsampled_s, *figures.cpu_s);
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
