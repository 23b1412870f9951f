#include "analysis/diff/doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/core/selection.h"
#include "analysis/core/source_facts.h"
#include "analysis/diff/measured_metric.h"
#include "analysis/diff/stable_name.h"
#include "base/text.h"
#include "model/build_facts.h"
#include "model/facts.h"
#include "model/still_recorded.h"
#include "model/unsampled.h"

namespace fathom::analysis {
namespace {

model::SamplingFacts sampling(const model::Profile& profile) {
  return model::facts_of<model::SamplingFacts>(profile.meta);
}

std::string executable(const model::Profile& profile) {
  if (profile.processes.empty()) return "";
  return std::string(base_name(profile.strings[profile.processes.front().executable]));
}

std::string compilers(const model::Profile& profile) {
  if (profile.processes.empty()) return "";
  const std::string_view path = profile.strings[profile.processes.front().executable];
  const auto fact = profile.meta.facts.find(model::compilers_fact(path));
  return fact == profile.meta.facts.end() ? "" : fact->second;
}

double lost_share(const model::Profile& profile) {
  const model::Quality& quality = profile.quality;
  const double lost = static_cast<double>(quality.lost_ring_full) + static_cast<double>(quality.lost_stack) +
                      static_cast<double>(quality.lost_disk) + static_cast<double>(quality.lost_waits);
  const double all = lost + static_cast<double>(quality.samples) + static_cast<double>(quality.waits);
  return all > 0 ? lost / all : 0;
}

std::string ending(const model::Profile& profile) {
  const auto facts = model::facts_of<model::EndingFacts>(profile.meta);
  if (facts.signal) return fmt::format("signal {}", *facts.signal);
  return facts.exit ? fmt::format("status {}", *facts.exit) : "";
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string completeness(const model::Profile& profile) {
  return model::is_still_recorded(profile) ? "still recorded"
         : profile.quality.truncated       ? "cut short"
                                           : "whole";
}

}  // namespace

double cpu_wait_share(const model::Profile& profile) {
  double waited_s = static_cast<double>(sampling(profile).cpu_wait_ms.value_or(0)) * 1e-3;
  double ran_s = profile.meta.frequency_hz == 0
                     ? 0
                     : profile.quality.expected_samples / static_cast<double>(profile.meta.frequency_hz);
  if (!(waited_s > 0) || !(ran_s > 0)) {
    // If waits were recorded, each thread's times were updated at every context switch.
    waited_s = ran_s = 0;
    for (const model::Thread& thread : profile.threads) {
      waited_s += static_cast<double>(thread.queued_ns) * 1e-9;
      ran_s += static_cast<double>(thread.ran_ns) * 1e-9;
    }
  }
  return waited_s > 0 && ran_s > 0 ? waited_s / (waited_s + ran_s) : 0;
}

double others_share(const model::Profile& profile) {
  return std::clamp(sampling(profile).others_percent.value_or(0) / 100, 0.0, 1.0);
}

static std::string busy_text(const model::Profile& profile, double share) {
  return !sampling(profile).cpu_wait_ms && !(share > 0) ? "an unknown part" : percent_text(share);
}

static std::optional<model::Unsampled> unsampled_in(const model::Profile& profile) {
  double cpu_ns = 0;
  for (const model::Thread& thread : profile.threads) cpu_ns += static_cast<double>(thread.cpu_ns);
  const model::Quality& quality = profile.quality;
  return model::find_unsampled(profile.meta,
                               {.cpu_s = cpu_ns * 1e-9,
                                .samples = std::max<std::uint64_t>(quality.samples, profile.samples.size()),
                                .lost = quality.lost_ring_full + quality.lost_stack + quality.lost_disk});
}

bool is_unsampled(const model::Profile& profile) {
  const auto unsampled = unsampled_in(profile);
  return unsampled && unsampled->all;
}

// Why; "" if it was sampled.
static std::string unsampled_text(const model::Profile& profile) {
  const auto unsampled = unsampled_in(profile);
  if (!unsampled || !unsampled->all) return "";
  return unsampled->why.empty() ? "the cause is unknown" : unsampled->why;
}

// "off-cpu, heap-live": what `other` has and `profile` did not measure.
static std::string missing_in(const model::Profile& profile, const model::Profile& other) {
  using model::Metric;
  std::string text;
  for (const Metric metric : metrics_in(other)) {
    // The others are derived from these.
    if (metric == Metric::kWall || metric > Metric::kHeapPeak || is_measured(profile, metric)) continue;
    text += (text.empty() ? "" : ", ") + std::string(model::to_string(metric));
  }
  return text;
}

std::string host_of(const model::Profile& profile) {
  const auto origin = model::facts_of<model::OriginFacts>(profile.meta);
  return !origin.cpus
             ? origin.host
             : fmt::format("{}{}{} CPUs", origin.host, origin.host.empty() ? "" : ", ", *origin.cpus);
}

std::vector<Doubt> doubts_between(const model::Profile& base, const model::Profile& fresh) {
  std::vector<Doubt> doubts;
  // A difference can only be stated if both sides are known.
  const auto differs = [&](DoubtKind kind, const std::string& a, const std::string& b) {
    if (!a.empty() && !b.empty() && a != b) doubts.push_back({kind, a, b});
  };
  differs(DoubtKind::kProgram, executable(base), executable(fresh));
  differs(DoubtKind::kCompilers, compilers(base), compilers(fresh));
  const auto rate = [](const model::Profile& profile) {
    return profile.meta.frequency_hz == 0 ? "" : fmt::format("{} Hz", profile.meta.frequency_hz);
  };
  differs(DoubtKind::kRate, rate(base), rate(fresh));
  differs(DoubtKind::kEngine, base.meta.engine, fresh.meta.engine);
  differs(DoubtKind::kEvent, base.meta.event, fresh.meta.event);
  differs(DoubtKind::kHost, host_of(base), host_of(fresh));

  constexpr double kManyLost = 0.01, kMuchStolen = 0.05, kMuchLonger = 2;
  const double lost_base = lost_share(base), lost_fresh = lost_share(fresh);
  if (lost_base > kManyLost || lost_fresh > kManyLost)
    doubts.push_back({DoubtKind::kLosses, percent_text(lost_base), percent_text(lost_fresh)});
  const double stolen_base = sampling(base).stolen_percent.value_or(0) / 100;
  const double stolen_fresh = sampling(fresh).stolen_percent.value_or(0) / 100;
  if (stolen_base > kMuchStolen || stolen_fresh > kMuchStolen)
    doubts.push_back({DoubtKind::kStolen, percent_text(stolen_base), percent_text(stolen_fresh)});
  const double busy_base = cpu_wait_share(base), busy_fresh = cpu_wait_share(fresh);
  if (busy_base > kBusyMachine || busy_fresh > kBusyMachine)
    doubts.push_back({DoubtKind::kBusy, busy_text(base, busy_base), busy_text(fresh, busy_fresh)});
  const double time_base = base.duration_s(), time_fresh = fresh.duration_s();
  if (time_base > 0 && time_fresh > 0 &&
      (time_base > kMuchLonger * time_fresh || time_fresh > kMuchLonger * time_base))
    doubts.push_back(
        {DoubtKind::kDuration, fmt::format("{:.1f} s", time_base), fmt::format("{:.1f} s", time_fresh)});
  if (base.quality.truncated || fresh.quality.truncated)
    doubts.push_back({DoubtKind::kTruncated, completeness(base), completeness(fresh)});
  differs(DoubtKind::kFailed, ending(base), ending(fresh));
  if (is_unsampled(base) || is_unsampled(fresh))
    doubts.push_back({DoubtKind::kUnsampled, unsampled_text(base), unsampled_text(fresh)});
  if (Doubt doubt{DoubtKind::kUnmeasured, missing_in(base, fresh), missing_in(fresh, base)};
      !doubt.base.empty() || !doubt.fresh.empty())
    doubts.push_back(std::move(doubt));
  return doubts;
}

}  // namespace fathom::analysis
