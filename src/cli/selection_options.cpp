#include "cli/selection_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "analysis/core/uncounted.h"
#include "analysis/spans/latency.h"
#include "analysis/summary/report.h"
#include "base/huge_pages.h"
#include "cli/no_file.h"
#include "cli/notices.h"
#include "cli/open_fleet.h"
#include "cli/open_store.h"
#include "cli/option_groups.h"
#include "cli/reading_notice.h"
#include "formats/open/open_profile.h"
#include "model/event_samples.h"
#include "model/facts.h"
#include "model/metric.h"

namespace fathom::cli {
namespace {

// CPU time by 1 over the number of threads that ran: the samples are weighed when the recording is opened.
constexpr const char* kLatency = "latency";

std::string known_metrics() {
  std::string names;
  for (int i = 0; i <= static_cast<int>(model::kLastMetric); ++i)
    names += (names.empty() ? "" : ", ") + std::string(model::to_string(static_cast<model::Metric>(i)));
  return names + ", " + kLatency;
}

std::string events_of(const model::Profile& profile) {
  std::string names;
  for (const model::RecordedEvent& event : model::recorded_events(profile.meta)) names += ", " + event.name;
  return names;
}

// Not the name of an event, which a recording may have.
bool is_built_in(const std::string& metric) {
  return metric == kLatency || model::metric_from(metric).has_value();
}

bool takes_any_sample(const model::Profile& profile, const analysis::Selection& selection) {
  const analysis::Filter filter(profile, selection);
  return std::ranges::any_of(profile.all_samples(), [&](const model::Sample& sample) {
    return filter.concerns(sample) && filter.takes_all(sample);
  });
}

// The other metrics that a file does not count have no rows: the error of an empty report lists those that have.
Result<> check_counted(const model::Profile& profile, model::Metric metric) {
  const auto why = analysis::uncounted(profile, metric);
  if (!why) return {};
  const bool of_dump = model::facts_of<model::OriginFacts>(profile.meta).format == "jemalloc heap dump";
  if (*why == analysis::Uncounted::kLifetimes)
    return fail(ErrorKind::kNotFound,
                of_dump ? "heap dumps have no lifetimes of blocks" : "the file has no lifetimes of blocks",
                "fathom record --heap, or --metric heap-live");
  if (*why == analysis::Uncounted::kAllocations)
    return of_dump ? fail(ErrorKind::kNotFound, "the dump has no counts of allocations: prof_accum was off",
                          "prof_accum:true when the program starts, or --metric heap-live")
                   : fail(ErrorKind::kNotFound, "the file has no counts of allocations",
                          "fathom record --heap, or --metric heap-live");
  return {};
}

// The heap is meant, also where no metric is named.
Result<> choose_sizes(const std::string& text, const model::Profile& profile, bool metric_is_named,
                      analysis::Selection& selection) {
  const Result<analysis::SizeBuckets> sizes = parse_asked_sizes(text);
  if (!sizes) return tl::unexpected(sizes.error());
  if (std::ranges::none_of(profile.heap.histograms, [](const model::HeapHistogram& row) {
        return row.kind == model::HeapHistogramKind::kSize;
      }))
    return fail(ErrorKind::kNotFound, "the file has no block sizes", "fathom record --heap");
  if (!metric_is_named && !model::is_heap(selection.metric)) selection.metric = model::Metric::kHeapLive;
  if (!model::is_heap(selection.metric))
    return fail(ErrorKind::kUsage, "--asked-size chooses call sites of the heap", "--metric heap-live");
  selection.asked_sizes = *sizes;
  return {};
}

bool is_cut_to(const model::Profile& profile, const char* fact, const TimeArgument& time) {
  const auto found = profile.meta.facts.find(fact);
  return found != profile.meta.facts.end() && !time.mark.empty() && found->second == time.mark;
}

}  // namespace

void add_containers_option(CLI::App& app, std::optional<bool>& containers, bool& plumbing) {
  app.add_flag_function(
      "--fold-containers,!--no-fold-containers",
      [&containers](std::int64_t count) { containers = count > 0; },
      "heap: remove container code (std::, alloc::, hashbrown, xmalloc) at the leaf, up to your own code (default: in tables and flame graphs, not in leaks and exports)");
  app.add_flag_callback(
      "--no-fold-plumbing", [&plumbing] { plumbing = false; },
      "heap: keep every frame, including the allocator's own");
}

void add_selection_options(CLI::App& app, SelectionOptions& options) {
  begin_group(app, kSelectionGroup);
  app.add_option("--metric", options.metric, "cpu, latency, off-cpu, wall, heap-live, events");
  app.add_option("--thread", options.thread, "threads with this name or number");
  app.add_option("-p,--pid", options.pid, "one process")->check(CLI::NonNegativeNumber)->type_name("PID");
  add_time_option(app, "--from", options.from, "from here: 10 (seconds), 500ms, a mark, or 02:00");
  add_time_option(app, "--until", options.until, "up to here, in the same words");
#ifdef FATHOM_HAS_SERVE
  app.add_option("--target", options.store_target, "of a store of fathom serve: this target")
      ->type_name("NAME")
      ->group(kRareGroup);
#endif
  app.add_option("--focus", options.focus, "stacks with this function: part of a name, /regex/")
      ->type_name("PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--ignore", options.ignore, "stacks without this function")
      ->type_name("PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  begin_group(app, kRareGroup);
  add_span_options(app, options.spans);
  app.add_flag("--tracer", options.tracer, "include the CPU time of fathom's own tracing in the target");
  // What is live at a time is what is live at the end of a window up to then.
  add_time_option(app, "--at", options.until, "")->group("");
  app.add_option("--unit", options.heap_unit, "unit of heap metrics")
      ->check(CLI::IsMember({"bytes", "blocks"}));
  app.add_option(
         "--asked-size", options.asked_size,
         "heap: only call sites that asked for blocks of this size: 4096, 64KiB:1MiB, 1MiB:, :100 (to the next power of two)")
      ->type_name("MIN:MAX");
  add_symbols_option(app, options.symbols);
  add_merge_option(app, options.dumps);
  add_containers_option(app, options.fold_containers, options.fold_plumbing);
  add_block_options(app, options.blocks);
}

void add_cut_options(CLI::App& app, SelectionOptions& options) {
  const auto add = [&](const char* name, std::vector<std::string>& patterns, const char* what) {
    app.add_option(name, patterns, what)
        ->type_name("PATTERN")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add("--hide", options.cuts.hide, "remove matching functions; their cost counts for their callers");
  add("--show-from", options.cuts.show_from, "begin stacks at the outermost matching function");
}

void add_symbols_option(CLI::App& app, std::string& folder) {
  app.add_option("--symbols", folder,
                 "folder with unstripped twins or debug files of stripped binaries, or one such file")
      ->type_name("PATH");
}

void add_merge_option(CLI::App& app, DumpInputs& inputs) {
  app.add_option(
         "--merge", inputs.merge,
         "how to combine heap dumps of jemalloc: latest of one process (default), all or last:N over time, sum of processes, mean, max")
      ->type_name("HOW");
}

std::string name_of_input(const std::string& input) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(input, ignored)) return input;
  std::string name = input.substr(0, input.find_first_of("*?["));
  while (name.size() > 1 && (name.back() == '.' || name.back() == '/')) name.pop_back();
  return name.empty() ? "heap" : name;
}

std::string result_name(const model::Profile& profile, const std::string& input) {
  std::string named = model::facts_of<model::ImportFacts>(profile.meta).result_name;
  return !named.empty() && input != "-" ? named : name_of_input(input);
}

void add_dump_inputs(CLI::App& app, DumpInputs& inputs) {
  app.add_option("more", inputs.more, "more heap dumps of jemalloc; patterns and folders work")
      ->type_name("DUMP")
      ->group(kRareGroup);
}

bool is_no_file(const std::string& input) {
#ifdef FATHOM_HAS_PUSH
  if (is_fleet(input)) return true;
#endif
#ifdef FATHOM_HAS_SERVE
  std::string folder;
  const auto stored = store_choice(input, folder);
  return !stored || *stored;
#else
  return false;
#endif
}

Result<model::Profile> open_with_names(const std::string& path, const store::ReadOptions& read,
                                       const std::string& symbols, const DumpInputs& dumps,
                                       std::optional<std::int32_t> pid, bool long_names,
                                       std::string* statistics, const open::EventChoice& event) {
  use_huge_pages();
#ifdef FATHOM_HAS_PUSH
  if (is_fleet(path)) return open_fleet(path, "", "");
#endif
#ifdef FATHOM_HAS_SERVE
  std::string folder;
  auto stored = store_choice(path, folder);
  if (!stored) return tl::unexpected(stored.error());
  if (*stored) return open_store(folder, std::move(**stored), long_names);
#endif
  open::DumpOptions merging{dumps.initial, pid};
  if (!dumps.merge.empty()) {
    const Result<dumps::Merge> merge = dumps::parse_merge(dumps.merge);
    if (!merge) return tl::unexpected(merge.error());
    merging.merge = *merge;
  }
  std::vector<std::string> inputs{path};
  inputs.insert(inputs.end(), dumps.more.begin(), dumps.more.end());
  open::NameOptions names("/proc/self/exe");  // main() knows what it is then
  names.symbol_directory = symbols;
  names.event = event;
  names.long_names = long_names;
  names.statistics = statistics;
  names.tell = [](const std::string& text) { say("fathom: --symbols: {}\n", text); };
  Result<model::Profile> profile = [&] {
    const ReadingNotice notice(path, inputs.size() - 1);
    return open::open_profiles(inputs, read, names, merging);
  }();
  // What several dumps mean together is never left to guess.
  if (profile && (inputs.size() > 1 || name_of_input(path) != path))
    if (const auto facts = model::facts_of<model::ImportFacts>(profile->meta); !facts.meaning.empty())
      say("fathom: {}\n", facts.meaning);
  return profile;
}

Result<std::vector<std::string>> runs_of_input(const std::string& path, const SelectionOptions& options) {
#ifdef FATHOM_HAS_PUSH
  if (is_fleet(path)) return inputs_by_host(path, options.from.mark, options.until.mark);
#endif
  (void)options;
  return std::vector<std::string>{path};
}

Result<model::Profile> open_selected(const std::string& path, const SelectionOptions& options,
                                     std::uint32_t keep_blocks, bool if_recorded) {
#ifdef FATHOM_HAS_PUSH
  if (is_fleet(path)) return open_fleet(path, options.from.mark, options.until.mark);
#endif
#ifdef FATHOM_HAS_SERVE
  std::string folder;
  auto stored = store_choice(path, folder);
  if (!stored) return tl::unexpected(stored.error());
  if (*stored) {
    if (!options.store_target.empty()) (*stored)->target = options.store_target;
    if ((*stored)->from.empty()) (*stored)->from = options.from.mark;
    if ((*stored)->until.empty()) (*stored)->until = options.until.mark;
    auto windows = open_store(folder, std::move(**stored), options.long_names);
    const auto metric = model::metric_from(options.metric);
    if (windows && windows->heap.empty() && metric && model::is_heap(*metric))
      return fail(ErrorKind::kNotFound, "fathom serve recorded no heap in this time",
                  "fathom serve --heap, which has it from then on");
    return windows;
  }
#endif
  Result<store::ReadOptions> read = read_options_from(options.blocks, keep_blocks);
  if (!read) return tl::unexpected(read.error());
  if (read->blocks && read->blocks->selects_all()) read->blocks->if_recorded = if_recorded;
  read->packed = options.packed && !options.spans.changes_rows() && options.metric != kLatency;
  DumpInputs dumps = options.dumps;
  // Of one dump there is no time to choose: the latest one would answer any question. A folder, a pattern or a list is no file.
  std::error_code ignored;
  const bool is_one = path == "-" || std::filesystem::is_regular_file(path, ignored);
  if ((options.from.given() || options.until.given()) && (!is_one || !dumps.more.empty()))
    dumps.initial.kind = dumps::Merge::Kind::kAll;
  Result<model::Profile> profile = open_with_names(
      path, *read, options.symbols, dumps, options.pid, options.long_names, options.statistics,
      {.name = is_built_in(options.metric) ? "" : options.metric, .all = options.all_events});
  // Before threads lose their waits outside of spans, in which they would seem to run.
  if (profile && options.metric == kLatency && !analysis::weigh_by_parallelism(*profile))
    return fail(ErrorKind::kNotFound, path + ": no CPU samples of a known length", "--metric cpu");
  if (profile)
    if (const Result<> applied = apply_spans(*profile, options.spans); !applied)
      return tl::unexpected(applied.error());
  return profile;
}

Result<SelectionOptions> with_times(const SelectionOptions& options, const model::Profile& profile) {
  SelectionOptions timed = options;
  if (is_cut_to(profile, kCutFromFact, options.from)) timed.from = {};
  if (is_cut_to(profile, kCutUntilFact, options.until)) timed.until = {};
  const auto from = seconds_of(timed.from, profile, "--from");
  if (!from) return tl::unexpected(from.error());
  // --from load --until load: the next one of that name.
  const double after = *from ? std::nextafter(**from, kMostSeconds) : 0;
  const auto until = seconds_of(timed.until, profile, "--until", after);
  if (!until) return tl::unexpected(until.error());
  timed.from = {*from, {}};
  timed.until = {*until, {}};
  return timed;
}

Result<analysis::Selection> selection_from(const SelectionOptions& given, const model::Profile& profile) {
  const Result<SelectionOptions> timed = with_times(given, profile);
  if (!timed) return tl::unexpected(timed.error());
  const SelectionOptions& options = *timed;
  analysis::Selection selection;
  selection.metric = analysis::default_metric(profile);
  if (options.metric == kLatency || model::names_event(profile.meta, options.metric)) {
    selection.metric = model::Metric::kCpu;
  } else if (!options.metric.empty()) {
    const std::optional<model::Metric> metric = model::metric_from(options.metric);
    if (!metric)
      return fail(ErrorKind::kUsage, fmt::format("there is no metric '{}'", options.metric),
                  known_metrics() + events_of(profile));
    selection.metric = *metric;
  }
  if (const Result<> counted = check_counted(profile, selection.metric); !counted)
    return tl::unexpected(counted.error());
  selection.thread = options.thread;
  selection.pid = options.pid;
  selection.tracer = options.tracer;
  selection.fold_containers = options.fold_containers;
  selection.fold_plumbing = options.fold_plumbing;
  if (options.heap_unit == "bytes") selection.heap_unit = analysis::HeapUnit::kBytes;
  if (options.heap_unit == "blocks") selection.heap_unit = analysis::HeapUnit::kBlocks;
  if (options.from.given()) selection.from_ns = static_cast<std::uint64_t>(*options.from.seconds * 1e9);
  // Of dumps over time, what happened is what happened since the first one.
  if (!options.from.given() && model::facts_of<model::ImportFacts>(profile.meta).heap_source == "dumps" &&
      selection.metric != model::Metric::kHeapPeak)
    selection.from_ns = 1;
  if (options.until.given()) selection.to_ns = static_cast<std::uint64_t>(*options.until.seconds * 1e9);
  if (selection.from_ns && selection.to_ns && *selection.from_ns >= *selection.to_ns) {
    const double from_s = static_cast<double>(*selection.from_ns) * 1e-9;
    const double to_s = static_cast<double>(*selection.to_ns) * 1e-9;
    return fail(
        ErrorKind::kUsage,
        fmt::format("--from {:g} s is not before --until {:g} s: no time is between them", from_s, to_s),
        from_s > to_s ? fmt::format("--from {:g} --until {:g}", to_s, from_s)
                      : fmt::format("--from {:g}, without --until", from_s));
  }
  Result<std::shared_ptr<const analysis::StackChoice>> stacks =
      analysis::choose_stacks(profile, options.focus, options.ignore, options.cuts);
  if (!stacks) return tl::unexpected(stacks.error());
  selection.stacks = std::move(*stacks);
  // Who focuses on what was waited for means the waits: nothing that ran has it on its stack.
  if (options.metric.empty() && selection.metric == model::Metric::kCpu && !options.focus.empty() &&
      !profile.all_waits().empty() && !takes_any_sample(profile, selection))
    selection.metric = model::Metric::kOffCpu;
  if (!options.asked_size.empty())
    if (const Result<> chosen = choose_sizes(options.asked_size, profile, !options.metric.empty(), selection);
        !chosen)
      return tl::unexpected(chosen.error());
  return selection;
}

}  // namespace fathom::cli
