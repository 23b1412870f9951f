#include "analysis/summary/pressure.h"

#include <algorithm>
#include <string_view>

namespace fathom::analysis {
namespace {

using model::Point;

// By how much the counter of microseconds grew, by the time that passed.
std::optional<double> share_of(const model::Profile& profile, const model::Series& series,
                               const Selection& selection) {
  const Point *first = nullptr, *last = nullptr;
  for (const Point& point : series.points) {
    const std::uint64_t into =
        point.time_ns > profile.meta.start_ns ? point.time_ns - profile.meta.start_ns : 0;
    if (into < selection.from_ns.value_or(0) || into >= selection.to_ns.value_or(UINT64_MAX)) continue;
    if (first == nullptr) first = &point;
    last = &point;
  }
  if (first == nullptr || last->time_ns <= first->time_ns) return std::nullopt;
  const double share =
      1000 * (last->value - first->value) / static_cast<double>(last->time_ns - first->time_ns);
  return std::clamp(share, 0.0, 1.0);
}

void take(std::optional<Stall>& stall, bool of_machine, bool full, double share) {
  if (!stall) stall = Stall{.of_machine = of_machine};
  if (stall->of_machine && !of_machine) stall = Stall{};  // the group's own figure is the nearer one
  if (stall->of_machine != of_machine) return;
  double& part = full ? stall->full : stall->some;
  part = std::max(part, share);
}

}  // namespace

PressureView find_pressure(const model::Profile& profile, const Selection& selection) {
  PressureView view;
  for (const model::Series& series : profile.series) {
    if (selection.pid && series.pid != *selection.pid) continue;
    std::string_view name = profile.strings[series.name];
    const bool of_machine = name.starts_with("system.");
    if (!of_machine && !name.starts_with("cgroup.")) continue;
    name.remove_prefix(7);  // either of them
    const bool full = name.ends_with("_stall_full");
    if (!full && !name.ends_with("_stall_some")) continue;
    name.remove_suffix(11);  // either of them
    std::optional<Stall>* stall = name == "memory" ? &view.memory
                                  : name == "cpu"  ? &view.cpu
                                  : name == "io"   ? &view.io
                                                   : nullptr;
    if (stall == nullptr) continue;
    if (const auto share = share_of(profile, series, selection)) take(*stall, of_machine, full, *share);
  }
  return view;
}

}  // namespace fathom::analysis
