// fathom diff: two recordings, two parts of one, or several runs on either side: what changed, and whether that is more than
// noise.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/words.h"
#include "analysis/diff/diff.h"
#include "analysis/diff/fail_condition.h"
#include "analysis/diff/measured_metric.h"
#include "analysis/diff/memory_diff.h"
#include "analysis/diff/power.h"
#include "analysis/diff/totals.h"
#include "analysis/spans/span_totals.h"
#include "analysis/summary/side_quality.h"
#include "base/parse.h"
#include "base/stable_sort.h"
#include "cli/command.h"
#include "cli/diff_conditions.h"
#include "cli/diff_inputs.h"
#include "cli/notices.h"
#include "cli/number_word.h"
#include "cli/open_store.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/selection_options.h"
#include "present/exports/diff_folded_writer.h"
#include "present/json/diff_json.h"
#include "present/sentences/diff_figures.h"
#include "present/sentences/diff_legend.h"
#include "present/svg/diff_flame_graph.h"
#include "present/text/text_diff.h"

namespace fathom::cli {
namespace {

struct DiffArguments {
  DiffSides sides;
  std::string normalization;
  std::vector<std::string> fail_if;
  std::optional<std::string> power;
  std::string flamegraph, width = "both";
  present::FlameGraphOptions picture;
  OutputPath output;
  std::string color = "auto";
  std::optional<std::size_t> top;
  bool json = false, markdown = false, folded = false;
  bool noise = false, fold_generics = false, wide = false;
  bool since_upgrade = false;
};

constexpr double kLeastWork = 1e-12, kMostWork = 1e18;  // beyond them figures are no numbers any more

bool is_measured(const DiffInputs& inputs, model::Metric metric) {
  const auto measured = [&](const analysis::DiffRun& run) {
    return analysis::is_measured(*run.profile, metric);
  };
  return std::ranges::all_of(inputs.base, measured) && std::ranges::all_of(inputs.fresh, measured);
}

// A run has values of the metric, or a clock that takes the place of the samples of its CPU time.
bool has_values(const DiffInputs& inputs, model::Metric metric) {
  const auto has = [&](const analysis::DiffRun& run) {
    const std::vector<model::Metric> metrics = analysis::metrics_in(*run.profile);
    return std::ranges::find(metrics, metric) != metrics.end() ||
           (metric == model::Metric::kCpu && analysis::is_unsampled(*run.profile));
  };
  return std::ranges::any_of(inputs.base, has) || std::ranges::any_of(inputs.fresh, has);
}

// "cpu, off-cpu", "nothing"
std::string metrics_text(const analysis::DiffRun& run) {
  std::string text;
  for (const model::Metric metric : analysis::metrics_in(*run.profile))
    text += (text.empty() ? "" : ", ") + std::string(model::to_string(metric));
  return text.empty() ? "nothing" : text;
}

// The metric that was asked for; else CPU time, then waiting, then the heap, as far as both sides measured them.
// kNotFound if they have none in common: what a file does not have is unknown, and not zero.
Result<std::vector<model::Metric>> metrics_of(const DiffArguments& arguments, const DiffInputs& inputs) {
  using model::Metric;
  if (!arguments.sides.selection.metric.empty())
    return std::vector<Metric>{inputs.base.front().selection.metric};
  std::vector<Metric> metrics;
  for (const Metric metric :
       {Metric::kCpu, Metric::kOffCpu, Metric::kHeapPeak, Metric::kHeapLive, Metric::kHeapAllocated,
        Metric::kHeapAllocations, Metric::kHeapGrowth, Metric::kHeapLeaked, Metric::kHeapTemporary}) {
    if (is_measured(inputs, metric) && has_values(inputs, metric)) metrics.push_back(metric);
  }
  if (metrics.empty())
    return fail(ErrorKind::kNotFound,
                fmt::format("no metric is in both sides: base has {}, new has {}",
                            metrics_text(inputs.base.front()), metrics_text(inputs.fresh.front())),
                "two recordings of the same kind; fathom report FILE shows what a file holds");
  return metrics;
}

Result<std::vector<analysis::DiffReport>> compare(const DiffArguments& arguments, DiffInputs& inputs,
                                                  const std::vector<analysis::FailCondition>& conditions) {
  analysis::DiffOptions options;
  options.fold_generics = arguments.fold_generics;
  if (!arguments.normalization.empty())
    options.normalization = analysis::normalization_from(arguments.normalization);
  options.whole_matters =
      !conditions.empty();  // what a check holds against a limit is the same on every machine
  Result<std::vector<model::Metric>> common = metrics_of(arguments, inputs);
  if (!common) return tl::unexpected(common.error());
  std::vector<model::Metric> metrics = std::move(*common);
  const std::size_t asked = metrics.size();
  for (const analysis::FailCondition& condition : conditions) {
    if (condition.metric && std::find(metrics.begin(), metrics.end(), *condition.metric) == metrics.end())
      metrics.push_back(*condition.metric);
  }
  std::vector<analysis::DiffReport> reports;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    options.metric = metrics[i];
    Result<analysis::DiffReport> report = analysis::make_diff(inputs.base, inputs.fresh, options);
    if (!report) {
      // Outputs that the user did not request by name may be empty, and a condition may have no subject: no
      // leak on either side.
      const bool optional = i > 0 && i < asked;
      const bool known = is_measured(inputs, metrics[i]);
      if ((optional || (i >= asked && known)) && report.error().kind == ErrorKind::kNotFound) continue;
      if (optional && report.error().kind == ErrorKind::kUsage) continue;
      return tl::unexpected(report.error());
    }
    report->work = arguments.sides.work_name;
    const bool of_whole_run = report->normalization == analysis::Normalization::kAbsolute;
    reports.push_back(std::move(*report));
    // What a whole run allocated does not say how fast.
    if (metrics[i] == model::Metric::kHeapAllocated && of_whole_run && arguments.normalization.empty() &&
        asked > 1) {
      analysis::DiffOptions rate = options;
      rate.normalization = analysis::Normalization::kPerSecond;
      Result<analysis::DiffReport> more = analysis::make_diff(inputs.base, inputs.fresh, rate);
      if (more) reports.push_back(std::move(*more));
    }
  }
  return reports;
}

Result<double> power_from(const std::string& text) {
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  const auto value = parse_number<double>(digits);
  if (!value || !(*value > 0) || *value > 1000)
    return fail(ErrorKind::kUsage,
                fmt::format("--power: '{}' is not a change in per cent", analysis::printable(text)),
                "--power 1%");
  return *value / 100;
}

// Of the whole, and of the functions that cost most.
std::string power_text(const analysis::DiffReport& report, double change) {
  std::string text;
  if (report.whole_is_judged)
    text += present::power_sentence(analysis::power_of(report, report.whole, change),
                                    present::diff_figure_name(report)) +
            "\n";
  std::vector<const analysis::DiffRow*> rows;
  for (const analysis::DiffRow& row : report.rows) {
    if (row.self.looked_at) rows.push_back(&row);
  }
  stable_sort_rows(rows.begin(), rows.end(), [](const analysis::DiffRow* a, const analysis::DiffRow* b) {
    return a->self.base + a->self.fresh > b->self.base + b->self.fresh;
  });
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(rows.size(), kMost); ++i)
    text += present::power_sentence(
                analysis::power_of(report, rows[i]->self, change),
                fmt::format("{} ({})", rows[i]->name,
                            present::diff_value(report, std::max(rows[i]->self.base, rows[i]->self.fresh)))) +
            "\n";
  return text.empty() ? "nothing was measured\n" : text;
}

analysis::SideQuality quality_of(const std::vector<analysis::DiffRun>& side) {
  std::vector<analysis::SideRun> runs;
  for (const analysis::DiffRun& run : side) runs.push_back({run.profile, run.selection});
  return analysis::side_quality(runs);
}

Result<> draw(const DiffArguments& arguments, const analysis::DiffReport& report) {
  const std::optional<present::DiffWidth> width = present::diff_width_from(arguments.width);
  if (!width) return fail(ErrorKind::kUsage, "--widths is both, base or new");
  const std::string svg = present::diff_flame_graph_svg(report, *width, arguments.picture);
  return write_output(svg, {arguments.flamegraph, arguments.output.force});
}

Result<int> run_diff(const DiffArguments& arguments) {
  if (auto fitting =
          fits_ending(arguments.output.path, arguments.json ? OutputKind::kJson : OutputKind::kText);
      !fitting)
    return tl::unexpected<Error>(fitting.error());
  if (auto fitting = fits_ending(arguments.flamegraph, OutputKind::kPicture); !fitting)
    return tl::unexpected(fitting.error());
  std::vector<analysis::FailCondition> conditions;
  for (const std::string& text : arguments.fail_if) {
    Result<analysis::FailCondition> condition = analysis::parse_fail_condition(text);
    if (!condition) return tl::unexpected(condition.error());
    conditions.push_back(std::move(*condition));
  }
  double power = 0;
  if (arguments.power) {
    const Result<double> read = power_from(*arguments.power);
    if (!read) return tl::unexpected(read.error());
    power = *read;
  }
  Result<DiffInputs> opened = open_sides(arguments.sides);
  if (!opened) return tl::unexpected(opened.error());
  DiffInputs inputs = std::move(*opened);
  const Result<std::vector<analysis::DiffReport>> reports = compare(arguments, inputs, conditions);
  if (!reports) return tl::unexpected(reports.error());

  std::vector<analysis::Total> totals = analysis::make_totals(inputs.base, inputs.fresh, *reports);
  std::ranges::move(analysis::span_totals(inputs.base, inputs.fresh), std::back_inserter(totals));
  if (const Result<> checked = check_conditions(*reports, totals, conditions); !checked)
    return tl::unexpected(checked.error());
  const std::vector<present::FailedCondition> failed = failed_of(*reports, totals, conditions);
  present::DiffTextOptions style;
  style.style.width = arguments.wide ? 0 : output_width();
  style.style.cut_names = arguments.output.path.empty() && output_is_narrow();
  style.style.color = output_has_color(arguments.color, arguments.output);
  constexpr std::size_t kUsualRows = 10, kOneScreen = 40;
  style.style.top = arguments.top.value_or(kUsualRows);
  style.noise = arguments.noise;
  if (!arguments.top && !arguments.noise) style.lines = kOneScreen;
  // Of all that is compared; a metric that was asked for by name is compared alone.
  const std::optional<analysis::MemoryDiff> memory =
      arguments.sides.selection.metric.empty() ? analysis::make_memory_diff(inputs.base, inputs.fresh)
                                               : std::nullopt;
  style.memory = memory ? &*memory : nullptr;
  style.totals = &totals;
  const analysis::DiffQuality quality{quality_of(inputs.base), quality_of(inputs.fresh)};
  style.quality = &quality;
  const std::string text = arguments.power ? power_text(reports->front(), power)
                           : arguments.json
                               ? present::diff_json(*reports, failed, style.memory, style.quality, totals)
                           : arguments.markdown ? present::diff_markdown(*reports, style)
                           : arguments.folded   ? present::write_diff_folded(reports->front())
                                                : present::diff_text(*reports, style);
  if (const Result<> written = write_output(text, arguments.output); !written)
    return tl::unexpected(written.error());
  if (!arguments.flamegraph.empty()) {
    inputs = {};  // reports need them no more, and a picture of large ones needs room
    if (const Result<> drawn = draw(arguments, reports->front()); !drawn)
      return tl::unexpected(drawn.error());
  }
  say_outcome(*reports, totals, conditions, failed);
  return failed.empty() ? kDone : kConditionHeld;
}

}  // namespace

Run add_diff(CLI::App& app) {
  auto arguments = std::make_shared<DiffArguments>();
  app.add_option("files", arguments->sides.files, "BASE and NEW; or one FILE with --base and --new")
      ->type_name("FILE");
  begin_group(app, "Sides");
  app.add_option("--base", arguments->sides.base, "runs; of one FILE: seconds 10:40, a mark, or pid:4711")
      ->type_name("RUN");
  app.add_option("--new", arguments->sides.fresh, "the same for the new side")->type_name("RUN");
  begin_group(app, kRareGroup);
  app.add_option(
         "--normalize", arguments->normalization,
         "how to make both sides comparable (default: absolute for programs recorded from start to end and for live memory, per-second for other times, share if times are unknown or the machine was too busy)")
      ->check(CLI::IsMember({"per-second", "absolute", "share", "cpu-second", "work"}));
  app.add_option("--work-base", arguments->sides.work_base,
                 "units of work that base did: one number, or one per run")
      ->check(number_between(kLeastWork, kMostWork))
      ->type_name("N");
  app.add_option("--work-new", arguments->sides.work_fresh, "the same for the new side")
      ->check(number_between(kLeastWork, kMostWork))
      ->type_name("N");
  app.add_option("--work", arguments->sides.work_name,
                 "name of a unit of work; without numbers, the recorded counter to use")
      ->type_name("NAME");
  begin_group(app, kOutputGroup);
  app.add_option("--fail-if", arguments->fail_if,
                 "exit with 5 if this changed: 'total > +5%', 'self > +5% : NAME'")
      ->type_name("EXPR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);  // a file may follow
  app.add_option("--power", arguments->power, "print how long or how often to record to see a change of N %")
      ->type_name("N%");
  app.add_option("--flamegraph", arguments->flamegraph, "also draw the differences as SVG")
      ->type_name("FILE");
  begin_group(app, kRareGroup);
  app.add_option("--widths", arguments->width, "what frame widths in the picture show")
      ->check(CLI::IsMember({"both", "base", "new"}))
      ->capture_default_str();
  app.add_option("--title", arguments->picture.title, "heading of the picture");
  app.add_flag("-i,--inverted,--icicle", arguments->picture.inverted, "draw the root at the top");
  app.add_option("--top", arguments->top,
                 "rows per table, and all tables; 0: all rows (default: what fits into 40 lines)")
      ->check(whole_number())
      ->type_name("N");
  app.add_flag("--since-upgrade", arguments->since_upgrade,
               "of a store of fathom serve: the hour before and the hour after the program's last change");
  app.add_flag("--noise", arguments->noise, "also list changes within noise");
  app.add_flag("--fold-generics", arguments->fold_generics, "merge Vec<u8>::push and Vec<u16>::push");
  app.add_flag("--wide", arguments->wide, "do not shorten names");
  begin_group(app, kOutputGroup);
  auto* json = app.add_flag("--json", arguments->json, "print JSON (docs/report-json.md)");
  auto* markdown = app.add_flag("--markdown", arguments->markdown, "print Markdown for a pull request");
  auto* folded = app.add_flag("--folded", arguments->folded,
                              "print folded stacks with two columns, as difffolded.pl does");
  json->excludes(markdown)->excludes(folded);
  markdown->excludes(folded);
  add_output_options(app, arguments->output, "file (default: standard output)");
  add_color_option(app, arguments->color);
  add_selection_options(app, arguments->sides.selection);
  return [arguments]() -> Result<int> {
    if (arguments->since_upgrade) {
      if (arguments->sides.files.size() != 1)
        return fail(ErrorKind::kUsage, "--since-upgrade compares two times of one store of fathom serve",
                    "fathom diff --since-upgrade FOLDER");
      const std::string store = arguments->sides.files.front();
      std::string folder;
      if (const auto choice = store_choice(store, folder); choice && !*choice)
        return fail(ErrorKind::kNotFound, store + ": not a store of fathom serve",
                    "fathom diff --since-upgrade FOLDER, such as fathom-store");
      arguments->sides.files = {input_for_upgrade(store, false), input_for_upgrade(store, true)};
    }
    return run_diff(*arguments);
  };
}

}  // namespace fathom::cli
