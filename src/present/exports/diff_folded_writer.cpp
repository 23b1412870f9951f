#include "present/exports/diff_folded_writer.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "present/exports/folded_text.h"

namespace fathom::present {
namespace {

std::int64_t whole(double value) {
  return std::llround(std::min(std::max(value, 0.0), 9e18));
}

}  // namespace

std::string write_diff_folded(const analysis::DiffReport& report) {
  const analysis::UnionTree& tree = report.tree;
  const analysis::NodeFigures figures = analysis::node_figures(report);
  // Back from a comparable figure to what base counts; of several runs, their mean.
  double factor = 0;
  for (std::size_t run = 0; run < report.base_runs; ++run) factor += report.run_factors[run];
  if (!(factor > 0)) {  // base has nothing at all, so new's own measure is as good
    for (std::size_t run = report.base_runs; run < report.run_factors.size(); ++run)
      factor += report.run_factors[run];
  }
  double unit = factor > 0 ? 1 / factor : 0;
  if (report.metric == model::Metric::kOffCpu || report.metric == model::Metric::kWall) unit /= 1000;

  std::vector<std::string> paths(tree.nodes.size());
  std::map<std::string, std::pair<double, double>> lines;  // what differs only in its module is one line
  for (std::size_t node = 1; node < tree.nodes.size(); ++node) {
    const analysis::UnionPlace& place = tree.places[tree.nodes[node].place];
    std::string& path = paths[node];
    path = paths[tree.nodes[node].parent];
    if (!path.empty()) path += ';';
    append_folded_name(path, tree.names[place.name]);
    if (place.kind == analysis::NodeKind::kKernel) path += "_[k]";
    if (figures.base[node] == 0 && figures.fresh[node] == 0) continue;
    auto& [base, fresh] = lines[path];
    base += figures.base[node] * unit;
    fresh += figures.fresh[node] * unit;
  }
  std::string out;
  for (const auto& [path, values] : lines) {
    const std::int64_t base = whole(values.first), fresh = whole(values.second);
    if (base != 0 || fresh != 0)
      out += path + " " + std::to_string(base) + " " + std::to_string(fresh) + "\n";
  }
  return out;
}

}  // namespace fathom::present
