#include "cli/view_pair.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/core/selection.h"
#include "analysis/diff/diff.h"
#include "model/profile.h"
#include "open/short_names.h"

namespace fathom::cli {
namespace {

struct Side {
  model::Profile profile;
  std::vector<std::uint64_t> codes;
};

Result<Side> open_side(const std::string& file, SelectionOptions reading) {
  reading.long_names = true;  // they tell the code, which finds functions without a name in another build
  Result<model::Profile> profile = open_selected(file, reading);
  if (!profile) return tl::unexpected(profile.error());
  Side side{std::move(*profile), {}};
  side.codes = open::shorten_nameless_functions(side.profile);
  return side;
}

bool has_metric(const Side& side, model::Metric metric) {
  const std::vector<model::Metric> metrics = analysis::metrics_in(side.profile);
  return std::ranges::find(metrics, metric) != metrics.end();
}

analysis::DiffRun run_of(const Side& side, const std::string& file, model::Metric metric) {
  analysis::DiffRun run;
  run.profile = &side.profile;
  run.codes = side.codes;
  run.selection.metric = metric;
  run.label = file;
  return run;
}

}  // namespace

Result<bool> is_jemalloc_dump(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return true;  // a pattern or a folder of them, or nothing
  std::string begin(16, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin.starts_with("heap_v2/") || begin.starts_with("heap profile:")) return true;
  const bool packed = begin.starts_with("\x1f\x8b") || begin.starts_with("\x28\xb5\x2f\xfd");
  if (!packed) return false;
  const Result<model::Profile> profile = open_selected(file, {});
  if (!profile) return tl::unexpected(profile.error());
  const auto format = profile->meta.facts.find("format");
  return format != profile->meta.facts.end() && format->second == "jemalloc heap dump";
}

Result<page::Document> compare_files(const std::string& base_file, const std::string& fresh_file,
                                     const SelectionOptions& reading,
                                     const page::ComparisonOptions& options) {
  using model::Metric;
  const Result<Side> base = open_side(base_file, reading);
  if (!base) return tl::unexpected(base.error());
  const Result<Side> fresh = open_side(fresh_file, reading);
  if (!fresh) return tl::unexpected(fresh.error());
  std::vector<analysis::DiffReport> reports;
  Error problem{ErrorKind::kNotFound, "the two recordings have no metric in common", "fathom report FILE"};
  for (const Metric metric : {Metric::kCpu, Metric::kOffCpu, Metric::kHeapPeak, Metric::kHeapLive,
                              Metric::kHeapAllocated, Metric::kHeapAllocations, Metric::kHeapGrowth}) {
    if (!has_metric(*base, metric) || !has_metric(*fresh, metric)) continue;
    analysis::DiffOptions diff;
    diff.metric = metric;
    Result<analysis::DiffReport> report =
        analysis::make_diff({run_of(*base, base_file, metric)}, {run_of(*fresh, fresh_file, metric)}, diff);
    if (report)
      reports.push_back(std::move(*report));
    else if (reports.empty())  // of several, what there is nothing of is left out
      problem = report.error();
  }
  if (reports.empty()) return tl::unexpected(problem);
  return page::make_comparison(reports, options);
}

}  // namespace fathom::cli
