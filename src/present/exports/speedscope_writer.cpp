#include "present/exports/speedscope_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "analysis/core/call_tree.h"
#include "analysis/core/empty_selection.h"
#include "base/stable_sort.h"
#include "present/exports/cost_rows.h"
#include "present/exports/frame_lines.h"
#include "present/exports/json_text.h"

namespace fathom::present {
namespace {

using model::Metric;

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const model::Profile& profile, const SpeedscopeOptions& options)
      : profile_(profile),
        options_(options),
        frames_(profile, options.fold_generics, options.selection.tracer),
        order_(tree_order(profile)) {}

  Result<std::string> write() {
    for (const Metric metric : metrics()) add_metric(metric);
    if (profiles_.empty()) return tl::unexpected(analysis::nothing_selected(profile_, options_.selection));
    std::string out =
        R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"fathom","name":)";
    append_json_text(out, profile_.meta.target);
    if (!options_.comments.empty()) {  // the format has no field for them; readers skip what they do not know
      out += R"(,"comments":[)";
      append_list(out, options_.comments,
                  [](std::string& to, const std::string& comment) { append_json_text(to, comment); });
      out += ']';
    }
    out += R"(,"activeProfileIndex":0,"shared":{"frames":)";
    append_list(out, frames_.calls(), [&](std::string& to, const FrameCall& call) {
      to += R"({"name":)";
      append_json_text(to, call.name.empty() ? "[unknown]" : call.name);
      if (!call.file.empty()) {
        to += R"(,"file":)";
        append_json_text(to, call.file);
      }
      to += '}';
    });
    out += R"(},"profiles":[)" + profiles_ + "]}\n";
    return out;
  }

 private:
  std::vector<Metric> metrics() const {
    if (!options_.metrics.empty()) return options_.metrics;
    std::vector<Metric> both;
    for (const Metric metric : analysis::metrics_in(profile_))
      if (metric == Metric::kCpu || metric == Metric::kOffCpu) both.push_back(metric);
    return both.empty() ? std::vector{options_.selection.metric} : both;
  }

  struct Rows {
    std::vector<CostRow> rows;
    std::vector<std::string> causes;
    std::string unit;  // speedscope's word
  };

  Rows rows_of(Metric metric) const {
    analysis::Selection selection = options_.selection;
    selection.metric = metric;
    CostRows found = metric_rows(profile_, selection);
    Rows rows{std::move(found.rows), std::move(found.causes), "none"};
    const std::string unit = analysis::unit_of(profile_, selection);
    if (unit == "ns") rows.unit = "nanoseconds";
    if (unit == "bytes") rows.unit = "bytes";
    const double period = metric == Metric::kCpu ? analysis::sample_period_ns(profile_) : 0;
    if (unit == "samples" && period != 0) {
      WholeSum whole;
      for (CostRow& row : rows.rows) row.value = whole.take(static_cast<double>(row.value) * period);
      rows.unit = "nanoseconds";
    }
    return rows;
  }

  void add_metric(Metric metric) {
    const Rows rows = rows_of(metric);
    std::map<std::uint32_t, std::vector<const CostRow*>> threads;
    std::map<std::uint32_t, double> totals;
    std::vector<const CostRow*> all;
    for (const CostRow& row : rows.rows) {
      threads[row.thread.value].push_back(&row);
      totals[row.thread.value] += static_cast<double>(row.value);
      all.push_back(&row);
    }
    if (all.empty()) return;
    // fathom's reader recognizes a profile's target by this end of its name.
    const std::string kind =
        metric == Metric::kCpu ? "" : fmt::format(" ({})", model::info_of(metric).sentence);
    add_profile("all threads" + kind, rows, std::move(all));
    std::vector<std::uint32_t> largest;
    for (const auto& [thread, unused] : threads)
      if (thread != model::kNoThread.value) largest.push_back(thread);
    if (largest.empty()) return;
    stable_sort_rows(largest, std::greater<>(), [&](std::uint32_t thread) { return totals[thread]; });
    std::vector<const CostRow*> others = std::move(threads[model::kNoThread.value]);
    for (std::size_t i = 0; i < largest.size(); ++i) {
      std::vector<const CostRow*>& of = threads[largest[i]];
      if (i < options_.most_threads)
        add_profile(fmt::format("{} {}{}", analysis::thread_name(profile_, {largest[i]}),
                                profile_.threads[largest[i]].tid, kind),
                    rows, std::move(of));
      else
        others.insert(others.end(), of.begin(), of.end());
    }
    if (!others.empty()) add_profile("other threads" + kind, rows, std::move(others));
  }

  void add_profile(const std::string& name, const Rows& rows, std::vector<const CostRow*> of) {
    stable_sort_rows(of, {}, [&](const CostRow* row) { return order_[row->stack.value]; });
    std::string samples, weights;
    std::int64_t total = 0;
    const CostRow* before = nullptr;
    std::int64_t open = 0;  // the weight of `before`, which is not written yet
    const auto end_of = [&] {
      if (before == nullptr) return;
      if (!weights.empty()) weights += ',';
      append_number(weights, open);
      total += open;
    };
    for (const CostRow* row : of) {
      const bool same = before != nullptr && before->stack == row->stack && before->cause == row->cause &&
                        before->skip == row->skip;
      if (same) {
        open += row->value;
        continue;
      }
      end_of();
      before = row;
      open = row->value;
      if (!samples.empty()) samples += ',';
      frames_.of_stack(row->stack, row->skip, rows.causes[row->cause], calls_);
      append_numbers(samples, calls_);
    }
    end_of();
    profiles_ += profiles_.empty() ? "" : ",\n";
    profiles_ += R"({"type":"sampled","name":)";
    append_json_text(profiles_, name);
    profiles_ += fmt::format(R"(,"unit":"{}","startValue":0,"endValue":{},"samples":[{}],"weights":[{}]}})",
                             rows.unit, total, samples, weights);
  }

  const model::Profile& profile_;
  const SpeedscopeOptions& options_;
  FrameLines frames_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> calls_;
  std::string profiles_;
};

}  // namespace

Result<std::string> write_speedscope(const model::Profile& profile, const SpeedscopeOptions& options) {
  return SpeedscopeWriter(profile, options).write();
}

}  // namespace fathom::present
