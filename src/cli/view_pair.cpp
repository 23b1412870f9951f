#include "cli/view_pair.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/core/selection.h"
#include "analysis/diff/diff.h"
#include "base/packed/unpacker.h"
#include "formats/jemalloc/dump.h"
#include "formats/open/short_names.h"
#include "model/profile.h"

namespace fathom::cli {
namespace {

struct PairInput {
  model::Profile profile;
  std::vector<std::uint64_t> codes;
};
struct PairRun {
  std::string file;
  const PairInput* input = nullptr;
};

class ReadSides {
 public:
  explicit ReadSides(SelectionOptions reading) : reading_(std::move(reading)) {
    reading_.long_names = true;  // they have the code, which finds functions without a name in another build
  }
  Result<std::vector<PairRun>> open(const std::vector<std::string>& files) {
    std::vector<PairRun> runs;
    for (const std::string& file : files) {
      const auto [known, added] = inputs_.try_emplace(file);
      if (added) {
        Result<model::Profile> profile = open_selected(file, reading_);
        if (!profile) return tl::unexpected(profile.error());
        known->second.profile = std::move(*profile);
        known->second.codes = open::shorten_nameless_functions(known->second.profile);
      }
      runs.push_back({file, &known->second});
    }
    return runs;
  }

 private:
  SelectionOptions reading_;
  std::map<std::string, PairInput> inputs_;
};

bool have_metric(const std::vector<PairRun>& runs, model::Metric metric) {
  return std::ranges::all_of(runs, [&](const PairRun& run) {
    const std::vector<model::Metric> metrics = analysis::metrics_in(run.input->profile);
    return std::ranges::find(metrics, metric) != metrics.end();
  });
}

std::vector<analysis::DiffRun> runs_of(const std::vector<PairRun>& runs, model::Metric metric) {
  std::vector<analysis::DiffRun> out;
  for (const PairRun& run : runs) {
    out.emplace_back();
    out.back().profile = &run.input->profile;
    out.back().codes = run.input->codes;
    out.back().selection.metric = metric;
    out.back().label = run.file;
  }
  return out;
}

}  // namespace

bool is_jemalloc_dump(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return true;  // a pattern or a folder of them, or nothing
  std::string begin(packed::kFirstPacked, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  // The reader of a file reports its errors.
  return formats::is_heap_dump(packed::is_packed(begin) ? packed::first_unpacked(begin) : begin);
}

Result<page::Document> compare_files(const std::vector<std::string>& base_files,
                                     const std::vector<std::string>& fresh_files,
                                     const SelectionOptions& reading,
                                     const page::ComparisonOptions& options) {
  using model::Metric;
  ReadSides inputs(reading);
  const Result<std::vector<PairRun>> base = inputs.open(base_files);
  if (!base) return tl::unexpected(base.error());
  const Result<std::vector<PairRun>> fresh = inputs.open(fresh_files);
  if (!fresh) return tl::unexpected(fresh.error());
  std::vector<analysis::DiffReport> reports;
  Error problem{ErrorKind::kNotFound, "the recordings have no metric in common", "fathom report FILE"};
  for (const Metric metric : {Metric::kCpu, Metric::kOffCpu, Metric::kHeapPeak, Metric::kHeapLive,
                              Metric::kHeapAllocated, Metric::kHeapAllocations, Metric::kHeapGrowth}) {
    if (!have_metric(*base, metric) || !have_metric(*fresh, metric)) continue;
    analysis::DiffOptions diff;
    diff.metric = metric;
    Result<analysis::DiffReport> report =
        analysis::make_diff(runs_of(*base, metric), runs_of(*fresh, metric), diff);
    if (report)
      reports.push_back(std::move(*report));
    else if (reports.empty())  // of several, what there is nothing of is left out
      problem = report.error();
  }
  if (reports.empty()) return tl::unexpected(problem);
  page::ComparisonOptions with_courses = options;
  with_courses.base_courses = page::courses_of(base->front().input->profile);
  with_courses.fresh_courses = page::courses_of(fresh->front().input->profile);
  return page::make_comparison(reports, with_courses);
}

}  // namespace fathom::cli
