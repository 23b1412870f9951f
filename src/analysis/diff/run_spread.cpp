#include "analysis/diff/run_spread.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

#include "analysis/core/wait_cause.h"
#include "analysis/diff/doubts.h"
#include "model/heap_exactness.h"

namespace fathom::analysis {

bool has_phases(const UnionTree& tree, std::size_t first_piece, std::size_t pieces, double weight) {
  constexpr std::size_t kLeastPieces = 5;
  constexpr double kDiffers = 0.1;
  if (pieces < kLeastPieces) return true;
  const std::size_t half = pieces / 2;
  const auto sum = [&](const std::vector<std::int64_t>& values, std::size_t row, std::size_t from,
                       std::size_t to) {
    double all = 0;
    for (std::size_t i = from; i < to; ++i)
      all += static_cast<double>(values[row * tree.pieces + first_piece + i]);
    return all;
  };
  const double first = sum(tree.whole, 0, 0, half), second = sum(tree.whole, 0, half, pieces);
  if (!(first > 0) || !(second > 0)) return true;
  double apart = 0, by_chance = 0;
  for (std::size_t place = 0; place < tree.places.size(); ++place) {
    const NodeKind kind = tree.places[place].kind;
    if (kind == NodeKind::kThread || kind == NodeKind::kCause) continue;
    const double a = sum(tree.place_self, place, 0, half), b = sum(tree.place_self, place, half, pieces);
    if (a == 0 && b == 0) continue;
    apart += std::fabs(a / first - b / second) / 2;
    const double share = (a + b) / (first + second);
    const double variance = share * (1 - share) * weight * (1 / first + 1 / second);
    // The mean absolute deviation of a normal distribution.
    by_chance += std::sqrt(2 * std::fmax(variance, 0.0) / std::numbers::pi) / 2;
  }
  return apart - by_chance > kDiffers;
}

void assume_spread(RunScale& scale, const model::Profile& profile, bool phases) {
  scale.kernel_spread = kRunToRunOfKernel;
  if (phases) {
    scale.own_spread = std::hypot(kRunToRunOfPhases, kSpreadOfShares * others_share(profile));
    scale.kernel_spread = kRunToRunOfKernelInPhases;
    scale.least_spread = kLeastSpreadOfPhases;
  }
  const double busy = cpu_wait_share(profile);
  const double of_user = kSpreadOfShares * busy;
  scale.own_spread = std::hypot(scale.own_spread, of_user);
  scale.kernel_spread = std::hypot(scale.kernel_spread, std::max(kSpreadOfKernel * busy, of_user));
  scale.kernel_spread = std::min(scale.kernel_spread, kMostSpreadOfKernel);
  scale.least_spread = std::hypot(scale.least_spread, kLeastSpreadOfBusy * busy);
}

double spread_of_total(const model::Profile& profile, bool phases, double kernel_part, double cpu_s) {
  const double busy = std::max(cpu_wait_share(profile), others_share(profile));
  const double moments = kSpreadOfMoments / std::sqrt(1 + std::max(cpu_s, 0.0));
  const double user =
      std::hypot(phases ? 2 * kRunToRun : kRunToRun, busy * std::hypot(kSpreadOfNeighbours, moments));
  const double kernel = std::hypot(kRunToRunOfKernel, kSpreadOfKernelTotal * busy);
  return std::hypot((1 - kernel_part) * user, kernel_part * kernel);
}

double lost_share_of(const model::Profile& profile, model::Metric metric) {
  double lost = 0, kept = 0;
  const model::Quality& quality = profile.quality;
  if (model::is_heap(metric)) {
    if (profile.heap.empty()) return 0;
    const model::HeapExactness exactness = model::exactness_of(profile);
    lost = static_cast<double>(exactness.lost());
    kept = static_cast<double>(exactness.events);
  } else {
    if (metric != model::Metric::kOffCpu) {
      lost += static_cast<double>(quality.lost_ring_full) + static_cast<double>(quality.lost_stack) +
              static_cast<double>(quality.lost_disk);
      kept += static_cast<double>(quality.samples);
    }
    if (metric != model::Metric::kCpu) {
      lost += static_cast<double>(quality.lost_waits);
      kept += static_cast<double>(quality.waits);
    }
  }
  return lost > 0 ? lost / (lost + kept) : 0;
}

double spread_of_losses(double lost_share) {
  return std::clamp(lost_share, 0.0, 1.0) / std::sqrt(3.0);
}

namespace {

// For each place: the part of its total that lies in places for which `takes` is true.
template <class Takes>
std::vector<double> parts_in(const UnionTree& tree, const Takes& takes) {
  // Parents have smaller numbers than their children.
  std::vector<double> all(tree.nodes.size()), part(tree.nodes.size());
  for (std::size_t node = tree.nodes.size(); node-- > 0;) {
    const std::uint32_t place = tree.nodes[node].place;
    const bool taken = place != kNoPlace && takes(tree.places[place]);
    for (std::size_t run = 0; run < tree.runs; ++run) {
      const auto self = static_cast<double>(tree.node_self[node * tree.runs + run]);
      all[node] += self;
      if (taken) part[node] += self;
    }
    if (node == 0) break;
    all[tree.nodes[node].parent] += all[node];
    part[tree.nodes[node].parent] += part[node];
  }
  // Recursion counts more than once in both parts of the ratio.
  std::vector<double> parts(tree.places.size() + 1), wholes(tree.places.size() + 1);
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    const std::size_t at = tree.nodes[node].place == kNoPlace ? tree.places.size() : tree.nodes[node].place;
    parts[at] += part[node];
    wholes[at] += all[node];
  }
  for (std::size_t at = 0; at < parts.size(); ++at) parts[at] = wholes[at] > 0 ? parts[at] / wholes[at] : 0;
  return parts;
}

bool has_cause(const UnionTree& tree, const UnionPlace& place, bool (*holds)(Cause)) {
  if (place.kind != NodeKind::kCause) return false;
  const std::optional<Cause> cause = cause_of_frame(tree.names[place.name]);
  return cause && holds(*cause);
}

}  // namespace

std::vector<double> kernel_parts(const UnionTree& tree) {
  return parts_in(tree, [](const UnionPlace& place) { return place.kind == NodeKind::kKernel; });
}

bool is_of_device(Cause cause) {
  switch (cause) {
    case Cause::kFileRead:
    case Cause::kFileWrite:
    case Cause::kFileSync:
    case Cause::kFileOther:
    case Cause::kIoUring:
    case Cause::kAsyncIo:
    case Cause::kPageFault:
    case Cause::kWriteback:
    case Cause::kReclaim:
      return true;
    default:
      return false;
  }
}

bool is_of_timer(Cause cause) {
  return cause == Cause::kSleep;
}

std::vector<double> device_parts(const UnionTree& tree) {
  return parts_in(tree, [&](const UnionPlace& place) { return has_cause(tree, place, is_of_device); });
}

std::vector<double> timer_parts(const UnionTree& tree) {
  return parts_in(tree, [&](const UnionPlace& place) { return has_cause(tree, place, is_of_timer); });
}

bool may_have_fixed_time(const std::vector<double>& seconds) {
  constexpr double kSameLength = 1.25;  // the last piece of work may begin just before the end
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  return seconds.empty() || !(*least > 0) || *most < kSameLength * *least;
}

void share_delays(RunScale& base, RunScale& fresh) {
  const double common = std::min(base.delayed, fresh.delayed) / 2;
  base.delayed -= common;
  fresh.delayed -= common;
}

void exempt_timers(RunScale& scale, double timer_part) {
  if (!(timer_part > 0)) return;
  // What remains of a figure whose other part would be e^delayed times shorter.
  scale.delayed = -std::log(timer_part + (1 - timer_part) * std::exp(-scale.delayed));
  scale.own_spread = std::hypot((1 - timer_part) * scale.own_spread, timer_part * kRunToRunOfWaits);
}

void assume_spread_of_waits(RunScale& scale, const model::Profile& profile) {
  const double busy = cpu_wait_share(profile);
  scale.own_spread = std::hypot(kRunToRunOfWaits, kSpreadOfWaits * busy);
  scale.kernel_spread = std::hypot(kRunToRunOfDevices, kSpreadOfWaits * busy);
  scale.delayed = scale.starved = starvation(busy);
}

double starvation(double cpu_wait_share) {
  constexpr double kMost = 0.99;
  return -std::log1p(-std::clamp(cpu_wait_share, 0.0, kMost));
}

}  // namespace fathom::analysis
