#include "cli/selection_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/summary/report.h"
#include "cli/notices.h"
#include "open/open_profile.h"

namespace fathom::cli {
namespace {

constexpr double kMostSeconds = 1e9;  // 31 years

std::string known_metrics() {
  std::string names;
  for (int i = 0; i <= static_cast<int>(model::kLastMetric); ++i)
    names += (names.empty() ? "" : ", ") + std::string(model::to_string(static_cast<model::Metric>(i)));
  return names;
}

bool takes_any_sample(const model::Profile& profile, const analysis::Selection& selection) {
  const analysis::Filter filter(profile, selection);
  return std::any_of(profile.samples.begin(), profile.samples.end(), [&](const model::Sample& sample) {
    return filter.concerns(sample) && filter.takes_all(sample);
  });
}

}  // namespace

void add_containers_option(CLI::App& app, std::optional<bool>& containers, bool& plumbing) {
  app.add_flag_function(
      "--fold-containers,!--no-fold-containers",
      [&containers](std::int64_t count) { containers = count > 0; },
      "heap: take containers (std::, alloc::, hashbrown, xmalloc) away at the leaf, up to your own code; "
      "tables and flame graphs do by themselves, leaks and exports do not");
  app.add_flag_callback(
      "--no-fold-plumbing", [&plumbing] { plumbing = false; },
      "heap: keep every frame, also the allocator's own");
}

void add_selection_options(CLI::App& app, SelectionOptions& options) {
  app.add_option("--metric", options.metric,
                 "cpu, off-cpu, wall, heap-live ... (default: the first that the file has)");
  app.add_option("--thread", options.thread, "only threads of this name, or the one of this tid");
  app.add_option("--pid", options.pid, "only this process");
  app.add_option("--from", options.from_s, "only samples from this many seconds after the start")
      ->check(CLI::Range(0.0, kMostSeconds));
  app.add_option("--until", options.until_s, "only samples before this many seconds after the start")
      ->check(CLI::Range(0.0, kMostSeconds));
  app.add_option(
         "--focus", options.focus,
         "only stacks with a function like PATTERN: a part of its name, or /expression/; of several, any; "
         "also what is waited for, as it is shown: '[wait: futex]', '[run queue]', '(idle:'")
      ->type_name("PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--ignore", options.ignore, "only stacks without one")
      ->type_name("PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--tracer", options.tracer, "keep the CPU time of fathom's own heap tracer in the target");
  // What is live at a time is what is live at the end of a window up to then.
  app.add_option("--at", options.until_s, "")->check(CLI::Range(0.0, kMostSeconds))->group("");
  app.add_option("--unit", options.heap_unit, "what heap metrics count")
      ->check(CLI::IsMember({"bytes", "blocks"}));
  add_symbols_option(app, options.symbols);
  add_containers_option(app, options.fold_containers, options.fold_plumbing);
  add_block_options(app, options.blocks);
}

void add_symbols_option(CLI::App& app, std::string& folder) {
  app.add_option(
         "--symbols", folder,
         "folder with unstripped twins and debug files: functions get the names of those that have the "
         "build ids of what was recorded")
      ->type_name("DIR");
}

Result<model::Profile> open_with_names(const std::string& path, const store::ReadOptions& read,
                                       const std::string& symbols) {
  open::NameOptions names;
  names.symbol_directory = symbols;
  names.reader = "/proc/self/exe";  // main() knows what it is then
  names.tell = [](const std::string& text) { say("fathom: --symbols: {}\n", text); };
  return open::open_profile(path, read, names);
}

Result<model::Profile> open_selected(const std::string& path, const SelectionOptions& options,
                                     std::uint32_t keep_blocks) {
  const Result<store::ReadOptions> read = read_options_from(options.blocks, keep_blocks);
  if (!read) return tl::unexpected(read.error());
  return open_with_names(path, *read, options.symbols);
}

Result<analysis::Selection> selection_from(const SelectionOptions& options, const model::Profile& profile) {
  analysis::Selection selection;
  selection.metric = analysis::default_metric(profile);
  if (!options.metric.empty()) {
    const std::optional<model::Metric> metric = model::metric_from(options.metric);
    if (!metric)
      return fail(ErrorKind::kUsage, fmt::format("there is no metric '{}'", options.metric), known_metrics());
    selection.metric = *metric;
  }
  selection.thread = options.thread;
  selection.pid = options.pid;
  selection.tracer = options.tracer;
  selection.fold_containers = options.fold_containers;
  selection.fold_plumbing = options.fold_plumbing;
  if (options.heap_unit == "bytes") selection.heap_unit = analysis::HeapUnit::kBytes;
  if (options.heap_unit == "blocks") selection.heap_unit = analysis::HeapUnit::kBlocks;
  if (options.from_s) selection.from_ns = static_cast<std::uint64_t>(*options.from_s * 1e9);
  if (options.until_s) selection.to_ns = static_cast<std::uint64_t>(*options.until_s * 1e9);
  if (selection.from_ns && selection.to_ns && *selection.from_ns >= *selection.to_ns) {
    return fail(ErrorKind::kUsage, "--from must be before --until");
  }
  Result<std::shared_ptr<const analysis::StackChoice>> stacks =
      analysis::choose_stacks(profile, options.focus, options.ignore);
  if (!stacks) return tl::unexpected(stacks.error());
  selection.stacks = std::move(*stacks);
  // Who focuses on what was waited for means the waits: nothing that ran has it on its stack.
  if (options.metric.empty() && selection.metric == model::Metric::kCpu && !options.focus.empty() &&
      !profile.waits.empty() && !takes_any_sample(profile, selection))
    selection.metric = model::Metric::kOffCpu;
  return selection;
}

}  // namespace fathom::cli
