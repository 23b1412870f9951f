// fathom diff: two recordings, two parts of one, or several runs on either side: what changed, and whether that is more than
// noise.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/core/words.h"
#include "analysis/diff/diff.h"
#include "analysis/diff/fail_condition.h"
#include "analysis/diff/measured_metric.h"
#include "analysis/diff/memory_diff.h"
#include "analysis/diff/power.h"
#include "analysis/diff/totals.h"
#include "analysis/diff/work_series.h"
#include "analysis/spans/span_totals.h"
#include "analysis/summary/side_quality.h"
#include "base/stable_sort.h"
#include "cli/command.h"
#include "cli/diff_conditions.h"
#include "cli/notices.h"
#include "cli/number_word.h"
#include "cli/open_store.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/selection_options.h"
#include "formats/open/short_names.h"
#include "model/marks.h"
#include "present/exports/diff_folded_writer.h"
#include "present/json/diff_json.h"
#include "present/sentences/diff_sentences.h"
#include "present/svg/diff_flame_graph.h"
#include "present/text/text_diff.h"

namespace fathom::cli {
namespace {

struct DiffArguments {
  std::vector<std::string> files;
  std::vector<std::string> base, fresh;  // more runs, or ranges of one file
  SelectionOptions selection;
  std::string normalization;
  std::vector<double> work_base, work_fresh;
  std::string work_name;
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

// A part of a recording: of its time, or one of its processes.
struct Range {
  std::optional<double> from_s, to_s;
  std::optional<std::int32_t> pid;
  std::string label;
};

// "pid:4711": what this process did.
std::optional<Range> process_from(std::string_view text) {
  constexpr std::string_view kPid = "pid:";
  if (!text.starts_with(kPid)) return std::nullopt;
  text.remove_prefix(kPid.size());
  Range range;
  std::int32_t pid = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || stop != text.data() + text.size() || pid <= 0) return std::nullopt;
  range.pid = pid;
  range.label = fmt::format("{}{}", kPid, pid);
  return range;
}

// "10:40", "10:", ":40": seconds after the start.
std::optional<Range> range_from(const std::string& text) {
  if (auto process = process_from(text)) return process;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.size() < 2) return std::nullopt;
  Range range;
  const auto number = [](std::string_view digits, std::optional<double>& value) {
    if (digits.empty()) return true;
    double read = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), read);
    if (error != std::errc{} || stop != digits.data() + digits.size() || !(read >= 0) || read > 1e9)
      return false;
    value = read;
    return true;
  };
  const std::string_view view = text;
  if (!number(view.substr(0, colon), range.from_s) || !number(view.substr(colon + 1), range.to_s))
    return std::nullopt;
  range.label =
      fmt::format("{:g}:{}", range.from_s.value_or(0), range.to_s ? fmt::format("{:g}", *range.to_s) : "");
  return range;
}

// Files, each read once, and what is compared of them.
struct Input {
  model::Profile profile;
  std::vector<std::uint64_t> codes;  // of functions without a name
};
struct Inputs {
  std::map<std::string, std::unique_ptr<Input>> files;
  std::vector<analysis::DiffRun> base, fresh;
};

class Opener {
 public:
  Opener(const DiffArguments& arguments, Inputs& inputs) : arguments_(arguments), inputs_(inputs) {}

  Result<> open() {
    const std::vector<std::string>& files = arguments_.files;
    const bool ranges = files.size() == 1 && (!arguments_.base.empty() || !arguments_.fresh.empty());
    if (ranges) return open_ranges(files.front());
    if (files.size() == 2 && arguments_.base.empty() && arguments_.fresh.empty()) {
      if (files[0] == "-" && files[1] == "-")
        return fail(ErrorKind::kUsage, "both sides are standard input", "a file for one of them");
      if (const Result<> read = add_runs(files[0], inputs_.base); !read) return read;
      return add_runs(files[1], inputs_.fresh);
    }
    if (!files.empty() || arguments_.base.empty() || arguments_.fresh.empty())
      return fail(
          ErrorKind::kUsage, "two sides are compared",
          "fathom diff BASE NEW, or fathom diff --base RUN... --new RUN..., or fathom diff FILE --base 0:30 --new 30:60");
    for (const std::string& file : arguments_.base) {
      if (const Result<> read = add_runs(file, inputs_.base); !read) return read;
    }
    for (const std::string& file : arguments_.fresh) {
      if (const Result<> read = add_runs(file, inputs_.fresh); !read) return read;
    }
    return {};
  }

 private:
  Result<> add_runs(const std::string& file, std::vector<analysis::DiffRun>& side) {
    const auto runs = runs_of_input(file, arguments_.selection);
    if (!runs) return tl::unexpected(runs.error());
    for (const std::string& run : *runs)
      if (const Result<> read = add(run, {}, side); !read) return read;
    return {};
  }

  Result<> open_ranges(const std::string& file) {
    for (const auto* side : {&arguments_.base, &arguments_.fresh}) {
      if (side->empty())
        return fail(ErrorKind::kUsage, "one file needs two ranges to compare", "--base 0:30 --new 30:60");
      for (const std::string& text : *side) {
        const Result<std::vector<Range>> ranges = ranges_named(file, text);
        if (!ranges) return tl::unexpected(ranges.error());
        for (const Range& range : *ranges) {
          if (const Result<> read = add(file, range, side == &arguments_.base ? inputs_.base : inputs_.fresh);
              !read)
            return read;
        }
      }
    }
    return {};
  }

  // A phase that came several times is several runs.
  Result<std::vector<Range>> ranges_named(const std::string& file, const std::string& text) {
    const Result<Input*> input = opened(file);
    if (!input) return tl::unexpected(input.error());
    std::vector<Range> ranges;
    for (const model::Phase& phase : model::phases_of((*input)->profile)) {
      if (phase.name != text || (phase.to_s && *phase.to_s <= phase.from_s)) continue;
      ranges.push_back({phase.from_s, phase.to_s, {}, phase.name});
    }
    if (!ranges.empty()) return ranges;
    const std::optional<Range> range = range_from(text);
    const std::string known = known_marks((*input)->profile);
    if (!range || (range->from_s && range->to_s && *range->from_s >= *range->to_s))
      return fail(ErrorKind::kUsage,
                  known.empty()
                      ? fmt::format("'{}' is not a range of seconds", analysis::printable(text))
                      : fmt::format("'{}' is neither a range of seconds nor a mark; the marks are {}",
                                    analysis::printable(text), known),
                  "--base 10:40, --new 60: or --base pid:NUMBER, or two files");
    return std::vector<Range>{*range};
  }

  Result<Input*> opened(const std::string& file) {
    std::unique_ptr<Input>& input = inputs_.files[file];
    if (input) return input.get();
    SelectionOptions reading = arguments_.selection;
    reading.long_names = true;  // they have the code, which finds functions without a name in another build
    Result<model::Profile> read = open_selected(file, reading);
    if (!read) return tl::unexpected(read.error());
    input = std::make_unique<Input>(Input{std::move(*read), {}});
    input->codes = open::shorten_nameless_functions(input->profile);
    return input.get();
  }

  Result<> add(const std::string& file, const Range& range, std::vector<analysis::DiffRun>& side) {
    const Result<Input*> file_input = opened(file);
    if (!file_input) return tl::unexpected(file_input.error());
    const Input* input = *file_input;
    SelectionOptions options = arguments_.selection;
    if (range.from_s) options.from = {range.from_s, {}};
    if (range.to_s) options.until = {range.to_s, {}};
    if (range.pid) options.pid = range.pid;
    Result<analysis::Selection> selection = selection_from(options, input->profile);
    if (!selection) return within(file, selection.error());
    analysis::DiffRun run;
    run.profile = &input->profile;
    run.codes = input->codes;
    run.selection = std::move(*selection);
    run.label = file;
    if (!range.label.empty()) run.label += " " + range.label;
    side.push_back(std::move(run));
    return {};
  }

  const DiffArguments& arguments_;
  Inputs& inputs_;
};

constexpr double kLeastWork = 1e-12, kMostWork = 1e18;  // beyond them figures are no numbers any more

// One number for all runs of a side, or one for each.
Result<> add_work(const std::vector<double>& work, const char* option, std::vector<analysis::DiffRun>& side) {
  if (work.empty()) return {};
  if (work.size() != 1 && work.size() != side.size())
    return fail(
        ErrorKind::kUsage,
        fmt::format("{}: {} numbers for {}", option, work.size(), analysis::counted(side.size(), "run")),
        "one, or one for each run");
  for (std::size_t i = 0; i < side.size(); ++i) side[i].work = work.size() == 1 ? work[0] : work[i];
  return {};
}

// Without numbers, the name of the work is that of a series in which it was counted.
Result<> work_of_series(const std::string& name, std::vector<analysis::DiffRun>& side) {
  for (analysis::DiffRun& run : side) {
    const Result<double> work =
        analysis::work_of_series(*run.profile, name, run.selection.from_ns, run.selection.to_ns);
    if (!work) return within(run.label, work.error());
    run.work = *work;
  }
  return {};
}

Result<> know_work(const DiffArguments& arguments, Inputs& inputs) {
  if (!arguments.work_name.empty() && arguments.work_base.empty() && arguments.work_fresh.empty()) {
    if (const Result<> base = work_of_series(arguments.work_name, inputs.base); !base) return base;
    return work_of_series(arguments.work_name, inputs.fresh);
  }
  if (const Result<> base = add_work(arguments.work_base, "--work-base", inputs.base); !base) return base;
  return add_work(arguments.work_fresh, "--work-new", inputs.fresh);
}

bool is_measured(const Inputs& inputs, model::Metric metric) {
  const auto measured = [&](const analysis::DiffRun& run) {
    return analysis::is_measured(*run.profile, metric);
  };
  return std::ranges::all_of(inputs.base, measured) && std::ranges::all_of(inputs.fresh, measured);
}

// A run has values of the metric, or a clock that takes the place of the samples of its CPU time.
bool has_values(const Inputs& inputs, model::Metric metric) {
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
Result<std::vector<model::Metric>> metrics_of(const DiffArguments& arguments, const Inputs& inputs) {
  using model::Metric;
  if (!arguments.selection.metric.empty()) return std::vector<Metric>{inputs.base.front().selection.metric};
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

Result<std::vector<analysis::DiffReport>> compare(const DiffArguments& arguments, Inputs& inputs,
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
    report->work = arguments.work_name;
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
  double value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || stop != digits.data() + digits.size() || !(value > 0) || value > 1000)
    return fail(ErrorKind::kUsage,
                fmt::format("--power: '{}' is not a change in per cent", analysis::printable(text)),
                "--power 1%");
  return value / 100;
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
  Inputs inputs;
  if (const Result<> opened = Opener(arguments, inputs).open(); !opened)
    return tl::unexpected(opened.error());
  if (const Result<> work = know_work(arguments, inputs); !work) return tl::unexpected(work.error());
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
      arguments.selection.metric.empty() ? analysis::make_memory_diff(inputs.base, inputs.fresh)
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
  app.add_option("files", arguments->files, "BASE and NEW; or one FILE with --base and --new")
      ->type_name("FILE");
  begin_group(app, "Sides");
  app.add_option("--base", arguments->base, "runs; of one FILE: seconds 10:40, a mark, or pid:4711")
      ->type_name("RUN");
  app.add_option("--new", arguments->fresh, "the same for the new side")->type_name("RUN");
  begin_group(app, kRareGroup);
  app.add_option(
         "--normalize", arguments->normalization,
         "how to make both sides comparable (default: absolute for programs recorded from start to end and for live memory, per-second for other times, share if times are unknown or the machine was too busy)")
      ->check(CLI::IsMember({"per-second", "absolute", "share", "cpu-second", "work"}));
  app.add_option("--work-base", arguments->work_base,
                 "units of work that base did: one number, or one per run")
      ->check(number_between(kLeastWork, kMostWork))
      ->type_name("N");
  app.add_option("--work-new", arguments->work_fresh, "the same for the new side")
      ->check(number_between(kLeastWork, kMostWork))
      ->type_name("N");
  app.add_option("--work", arguments->work_name,
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
  add_selection_options(app, arguments->selection);
  return [arguments]() -> Result<int> {
    if (arguments->since_upgrade) {
      if (arguments->files.size() != 1)
        return fail(ErrorKind::kUsage, "--since-upgrade compares two times of one store of fathom serve",
                    "fathom diff --since-upgrade FOLDER");
      const std::string store = arguments->files.front();
      std::string folder;
      if (const auto choice = store_choice(store, folder); choice && !*choice)
        return fail(ErrorKind::kNotFound, store + ": not a store of fathom serve",
                    "fathom diff --since-upgrade FOLDER, such as fathom-store");
      arguments->files = {input_for_upgrade(store, false), input_for_upgrade(store, true)};
    }
    return run_diff(*arguments);
  };
}

}  // namespace fathom::cli
