#include "analysis/summary/side_quality.h"

#include "analysis/core/breakdown.h"
#include "analysis/core/call_tree.h"
#include "analysis/summary/report.h"
#include "model/heap_exactness.h"

namespace fathom::analysis {
namespace {

// A mean of shares, by how much each of them stands for.
struct WeightedShare {
  double sum = 0, weight = 0;
  void add(double share, double of) {
    sum += share * of;
    weight += of;
  }
  std::optional<double> mean() const { return weight > 0 ? std::optional(sum / weight) : std::nullopt; }
};

}  // namespace

SideQuality side_quality(const std::vector<SideRun>& runs) {
  SideQuality side;
  WeightedShare complete, unnamed;
  double own_s = 0, recorded_s = 0;
  for (const SideRun& run : runs) {
    const model::Profile& profile = *run.profile;
    const CallTree tree = build_call_tree(profile, {.selection = run.selection, .thread_roots = false});
    const std::vector<ModuleRow> modules = module_table(tree);
    const QualityView view = judge_quality(profile, tree, modules);
    double frames = 0;
    for (const ModuleRow& row : modules) frames += row.frames;
    unnamed.add(view.unnamed_share, frames);
    side.runs += 1;
    side.samples += view.samples;
    if (profile.meta.engine == "import") {
      side.imported += 1;
      continue;
    }
    side.lost += view.lost;
    side.waits += profile.quality.waits;
    side.lost_waits += profile.quality.lost_waits;
    if (!profile.heap.empty()) {
      const model::HeapExactness exactness = model::exactness_of(profile);
      side.heap_events += exactness.events;
      side.lost_heap_events += exactness.lost();
    }
    if (view.complete_share) complete.add(*view.complete_share, static_cast<double>(profile.quality.samples));
    if (view.own_cost) {
      own_s += view.own_cost->recording_s;
      recorded_s += profile.duration_s();
    }
  }
  side.complete_share = complete.mean();
  side.unnamed_share = unnamed.mean();
  if (recorded_s > 0) side.own_cost = own_s / recorded_s;
  return side;
}

}  // namespace fathom::analysis
