// fathom flamegraph: a recording as one interactive SVG. Options are called as users of flamegraph.pl know
// them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/empty_selection.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/source_facts.h"
#include "analysis/core/words.h"
#include "analysis/summary/report.h"
#include "analysis/waits/node_wakers.h"
#include "cli/command.h"
#include "cli/newest_recording.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/selection_options.h"
#include "model/event_samples.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/quality_sentences.h"
#include "present/sentences/selection_sentences.h"
#include "present/svg/flame_graph.h"
#include "present/svg/flame_graph_text.h"

namespace fathom::cli {
namespace {

struct FlamegraphArguments {
  std::string file;
  OutputPath output;
  SelectionOptions selection;
  present::FlameGraphOptions picture;
  std::string colors;  // empty: by metric
  std::string min_width = "0.5";
  std::string background;
  bool no_threads = false, fold_generics = false, fold_recursion = false, show_idle = false,
       show_kernel = false, hash = false;
};

// "a/b.fathom" -> "a/b.svg"; a name without ending gets one.
std::string picture_beside(const std::string& input) {
  const std::size_t name = input.rfind('/') + 1;  // 0 without a slash
  const std::size_t dot = input.rfind('.');
  return (dot == std::string::npos || dot <= name ? input : input.substr(0, dot)) + ".svg";
}

// How the heap was recorded, and for its peak when that was.
std::vector<std::string> heap_in_words(const analysis::HeapReport& heap, model::Metric metric) {
  std::vector<std::string> parts;
  if (metric == model::Metric::kHeapPeak)
    parts.push_back(fmt::format("{} after the start", analysis::seconds(std::max(0.0, heap.peak_at_s))));
  parts.push_back(!heap.sampled ? (heap.losses.complete() ? "every call" : "not every call: some were lost")
                                : fmt::format("sampled, one byte in {}",
                                              analysis::bytes(static_cast<double>(heap.mean_bytes))));
  return parts;
}

// What the picture says about where it comes from, unless the user says it.
void describe(const model::Profile& profile, const analysis::CallTree& tree,
              const std::optional<analysis::HeapReport>& heap, present::FlameGraphOptions& picture) {
  const model::Meta& meta = profile.meta;
  const std::string target = present::short_target(present::target_without_folder(profile));
  if (!target.empty()) picture.root_name = target;
  if (picture.title.empty()) {
    picture.title = fmt::format("{}: {}", analysis::printable(model::title_of(profile, tree.metric)),
                                target.empty() ? "all" : target);
  }
  if (!picture.subtitle.empty()) return;
  std::vector<std::string> parts;
  if (!picture.count_name.empty()) {
    parts.push_back(analysis::with_commas(tree.total) + " " + picture.count_name);
  } else {
    std::string amount = analysis::amount(static_cast<double>(tree.total), tree.unit);
    if (heap && heap->sampled && tree.effective_samples > 0)
      amount += " ±" + analysis::percent(1.96 / std::sqrt(tree.effective_samples));
    parts.push_back(std::move(amount));
  }
  if (model::is_heap(tree.metric)) {
    if (tree.shrunk > 0)
      parts.push_back(analysis::amount(static_cast<double>(tree.shrunk), tree.unit) +
                      " went elsewhere and are not shown");
  } else if (tree.unit != "samples" && tree.samples != tree.waits)
    parts.push_back(analysis::counted(tree.samples - tree.waits, "sample"));
  if (tree.waits != 0) parts.push_back(analysis::counted(tree.waits, "wait"));
  if (profile.duration_s() > 0) parts.push_back(analysis::seconds(profile.duration_s()));
  if (heap) {
    for (std::string& part : heap_in_words(*heap, tree.metric)) parts.push_back(std::move(part));
    picture.subtitle = fmt::format("{}", fmt::join(parts, " · "));
    return;
  }
  if (meta.frequency_hz > 0) parts.push_back(fmt::format("{} Hz", meta.frequency_hz));
  if (!meta.event.empty()) parts.push_back(meta.event);
  if (!meta.engine.empty() && meta.engine != "import") parts.push_back("engine " + meta.engine);
  picture.subtitle = fmt::format("{}", fmt::join(parts, " · "));
}

// How much of the truth the picture holds: findings stand above the frames, figures below them.
void judge(const model::Profile& profile, const analysis::CallTree& tree,
           const std::optional<analysis::HeapReport>& heap, present::FlameGraphOptions& picture) {
  const std::string cost = present::own_cost_sentence(profile);
  if (heap) {  // samples of the CPU are another matter
    const model::Heap& counters = heap->counters;
    for (const analysis::HeapFinding& finding : heap->findings)
      picture.warnings.push_back(present::text_of(finding, *heap));
    const auto number = [](std::uint64_t value) {
      return analysis::with_commas(static_cast<std::int64_t>(value));
    };
    picture.notes.push_back(fmt::format(
        "Quality: {} events of the heap; {} lost; {} without a stack, {} with one that is cut short.",
        number(counters.events), number(heap->losses.exactness.lost()), number(counters.unwalked),
        number(counters.incomplete)));
    if (!cost.empty()) picture.notes.push_back(cost + ".");
    return;
  }
  const analysis::QualityView quality = analysis::judge_quality(profile, tree, analysis::module_table(tree));
  for (const analysis::Finding& finding : quality.findings)
    if (finding.is_certain) picture.warnings.push_back(present::complaint_of(finding).text);
  std::vector<std::string> parts;
  if (quality.received_share) {
    const bool more = quality.sample_check.verdict == analysis::SampleCheck::Verdict::kMore;
    parts.push_back(fmt::format("{} of {} {}expected samples",
                                analysis::with_commas(static_cast<std::int64_t>(profile.quality.samples)),
                                analysis::with_commas(std::llround(profile.quality.expected_samples)),
                                more ? "or more " : ""));
  }
  if (profile.quality.samples > 0) parts.push_back(analysis::counted(quality.lost, "sample") + " lost");
  if (quality.complete_share)
    parts.push_back(analysis::percent(*quality.complete_share) + " of stacks complete");
  if (tree.total > 0) parts.push_back(analysis::percent(quality.unnamed_share) + " of frames without a name");
  if (const std::string tracer = present::tracer_share_text(tree); !tracer.empty())
    parts.push_back("fathom's own tracing in the target took " + tracer + ", left out");
  if (tree.filtered > 0)
    parts.push_back(analysis::counted(tree.filtered, "sample") + " left out by the selection");
  if (!cost.empty()) parts.push_back(cost);
  if (!parts.empty()) picture.notes.push_back(fmt::format("Quality: {}.", fmt::join(parts, "; ")));
}

// "Idle time is left out: 20.0 s of 2 threads"
std::string idle_in_words(const analysis::CallTree& tree) {
  if (tree.idle_ns == 0) return "";
  return fmt::format("Idle time is left out: {} of {}",
                     analysis::seconds(static_cast<double>(tree.idle_ns) * 1e-9),
                     analysis::counted(tree.idle_threads, "thread"));
}

// "woken by worker in Log::release (72 % of the waiting)"; "" without a waker.
std::string waker_in_words(const std::optional<analysis::NodeWaker>& waker) {
  if (!waker) return "";
  std::string text = "woken by " + analysis::printable(waker->thread);
  if (!waker->site.empty()) text += " in " + analysis::printable(analysis::spoken_name(waker->site));
  constexpr double kNearlyAll = 0.995;
  if (waker->share > kNearlyAll) return text;
  return text + fmt::format(" ({} of the waiting)", analysis::percent(waker->share));
}

struct Drawn {
  std::string svg;
  std::optional<Error> nothing;  // why the picture is empty
  std::string idle;              // what was left out; empty: nothing
};

// The line of a function is the one that most of its stacks have.
analysis::SourceFacts sources_of(const model::Profile& profile) {
  std::vector<std::int64_t> weights(profile.stacks.size());
  for (const model::Sample& sample : profile.all_samples()) ++weights[sample.stack.value];
  for (const model::Wait& wait : profile.all_waits()) ++weights[wait.stack.value];
  for (const model::HeapSite& site : profile.heap.sites) ++weights[site.stack.value];
  return {profile, analysis::frame_weights_of(profile, weights)};
}

// Leaves the profile without samples, waits and stacks.
Drawn draw(model::Profile& profile, const analysis::TreeOptions& options,
           present::FlameGraphOptions picture) {
  analysis::TreeOptions from_root = options;
  from_root.reverse = false;
  analysis::CallTree tree = analysis::build_call_tree(profile, from_root);
  std::optional<analysis::HeapReport> heap;
  if (model::is_heap(tree.metric)) heap = analysis::make_heap_report(profile, options.selection);
  describe(profile, tree, heap, picture);
  if (options.selection.stacks)
    picture.notes.push_back(present::sentence_of_selection(
        options.selection, tree, analysis::total_without_choice(profile, options.selection)));
  judge(profile, tree, heap, picture);
  if (const auto merged = profile.meta.facts.find("merge"); merged != profile.meta.facts.end())
    picture.notes.push_back(merged->second);
  if (const std::string idle = idle_in_words(tree); !idle.empty())
    picture.notes.push_back(idle + ". --show-idle draws it.");
  if (options.reverse) tree = analysis::build_call_tree(profile, options);
  for (const auto& waker : analysis::wakers_of_nodes(profile, tree, options))
    picture.wakers.push_back(waker_in_words(waker));
  const analysis::SourceFacts sources = sources_of(profile);
  std::optional<Error> nothing;
  if (tree.total <= 0) {
    analysis::Selection selection = options.selection;
    selection.metric = tree.metric;
    nothing = analysis::nothing_selected(profile, selection);
  }
  // A million stacks and samples, which the picture does not need. Assigning {} to a vector would keep its memory.
  std::vector<model::Sample>().swap(profile.samples);
  profile.packed_samples.clear();
  std::vector<model::Wait>().swap(profile.waits);
  profile.packed_waits.clear();
  std::vector<model::Stack>().swap(profile.stacks);
  picture.place_of = [&sources](std::string_view module, std::string_view name) {
    return present::place_text(sources.place_of(module, name), name);
  };
  return {present::flame_graph_svg(tree, picture), std::move(nothing), idle_in_words(tree)};
}

Result<int> run_flamegraph(const FlamegraphArguments& arguments) {
  if (auto fitting = fits_ending(arguments.output.path, OutputKind::kPicture); !fitting)
    return tl::unexpected(fitting.error());
  present::FlameGraphOptions picture = arguments.picture;
  if (!arguments.colors.empty()) {
    const Result<present::Palette> palette = present::palette_from(arguments.colors);
    if (!palette) return tl::unexpected(palette.error());
    picture.colors = *palette;
  }
  const Result<present::MinWidth> min_width = present::min_width_from(arguments.min_width);
  if (!min_width) return tl::unexpected(min_width.error());
  picture.min_width = *min_width;
  if (!arguments.background.empty()) {
    const Result<std::string> background = present::background_from(arguments.background);
    if (!background) return tl::unexpected(background.error());
    picture.background = *background;
  }
  OutputPath output = arguments.output;
  if (output.path.empty())
    output.path = arguments.file == "-" ? "-" : picture_beside(name_of_input(arguments.file));
  const bool to_standard_output = is_standard_output(output.path);
  if (to_standard_output && ::isatty(STDOUT_FILENO) == 1) {
    return fail(ErrorKind::kUsage, "a picture is not written to a terminal", "-o FILE.svg");
  }
  Result<model::Profile> profile = open_selected(arguments.file, arguments.selection);
  if (!profile) return tl::unexpected(profile.error());
  if (arguments.output.path.empty() && !to_standard_output)
    output.path = picture_beside(result_name(*profile, arguments.file));
  const Result<analysis::Selection> selection = selection_from(arguments.selection, *profile);
  if (!selection) return tl::unexpected(selection.error());
  if (arguments.colors.empty() &&
      (selection->metric == model::Metric::kWall || selection->metric == model::Metric::kOffCpu))
    picture.colors = present::Palette::kWall;
  analysis::TreeOptions tree;
  tree.selection = *selection;
  tree.selection.fold_containers = selection->fold_containers.value_or(true);  // as the report does
  tree.thread_roots = !arguments.no_threads;
  tree.reverse = picture.reverse;
  tree.fold_generics = arguments.fold_generics;
  tree.drop_idle = !arguments.show_idle;
  tree.fold_kernel = !arguments.show_kernel;
  tree.fold_recursion = arguments.fold_recursion;

  const Drawn drawn = draw(*profile, tree, std::move(picture));
  if (drawn.nothing && !drawn.idle.empty())
    return fail(ErrorKind::kNotFound, fmt::format("{}: {}", arguments.file, drawn.idle),
                "--show-idle draws it");
  if (drawn.nothing) return within(arguments.file, *drawn.nothing);
  const Result<> written = write_output(drawn.svg, output);
  if (!written) return tl::unexpected(written.error());
  if (!to_standard_output) fmt::print(stderr, "{}\n", output.path);
  return kDone;
}

}  // namespace

Result<> draw_flamegraph_to(const std::string& recording, const std::string& path, bool force) {
  Result<model::Profile> profile = open_with_names(recording, {}, "");
  if (!profile) return tl::unexpected(profile.error());
  analysis::TreeOptions tree;
  tree.selection.metric = model::Metric::kCpu;
  return write_output(draw(*profile, tree, {}).svg, {path, force});
}

Result<std::string> draw_flamegraph(const std::string& recording, bool force) {
  const std::string path = picture_beside(recording);
  if (auto drawn = draw_flamegraph_to(recording, path, force); !drawn) return tl::unexpected(drawn.error());
  return path;
}

Run add_flamegraph(CLI::App& app) {
  auto arguments = std::make_shared<FlamegraphArguments>();
  present::FlameGraphOptions& picture = arguments->picture;
  app.add_option("file", arguments->file, "recording or another tool's file; default: newest here")
      ->type_name("FILE");
  add_dump_inputs(app, arguments->selection.dumps);
  begin_group(app, kOutputGroup);
  add_output_options(app, arguments->output, "picture; default: FILE with .svg; -: stdout");
  add_selection_options(app, arguments->selection);
  add_cut_options(app, arguments->selection);
  begin_group(app, kPictureGroup);
  app.add_option("--title", picture.title, "heading (default: metric and target)");
  app.add_option("--subtitle", picture.subtitle, "line below it (default: what was measured)");
  app.add_option("--colors,--color", arguments->colors,
                 present::palette_names() + " (default: module; wall for wall and off-cpu)")
      ->type_name("PALETTE");
  app.add_flag("-i,--inverted,--icicle", picture.inverted, "draw the root at the top");
  app.add_flag("--reverse", picture.reverse, "merge from the leaves: callers above callees");
  app.add_flag("--no-threads", arguments->no_threads, "merge all threads");
  app.add_flag("--show-idle", arguments->show_idle, "show the waits of idle workers");
  app.add_flag("--show-kernel", arguments->show_kernel, "show kernel frames of waits, not one box a cause");
  app.add_flag("--fold-recursion", arguments->fold_recursion, "draw recursion as one frame");
  app.add_flag("--fold-generics", arguments->fold_generics, "merge Vec<u8>::push and Vec<u16>::push");
  begin_group(app, kRareGroup);
  app.add_option("--width", picture.width, "pixels (default: 1200; a browser uses the window's width)")
      ->check(number_between(200.0, 100000.0));
  app.add_option("--height", picture.frame_height, "pixels per frame")
      ->check(number_between(6.0, 200.0))
      ->capture_default_str();
  app.add_option("--font-size,--fontsize", picture.font_size, "font size of frames")
      ->check(number_between(4.0, 100.0))
      ->capture_default_str();
  app.add_option("--font-type,--fonttype,--font", picture.font,
                 "font of frames (default: the viewer's fixed-width font)");
  app.add_option("--min-width,--minwidth", arguments->min_width,
                 "pixels or N%; narrower frames are merged and counted")
      ->type_name("WIDTH")
      ->capture_default_str();
  app.add_option("--count-name,--countname", picture.count_name,
                 "unit of the counts (default: the metric's unit)");
  app.add_option("--name-type,--nametype", picture.name_type, "word for a frame in its details")
      ->capture_default_str();
  app.add_option("--bg-colors,--bgcolors", arguments->background,
                 "background: yellow, blue, green, grey or #rrggbb");
  app.add_flag("--hash", arguments->hash, "accepted for compatibility; colours always depend on names");
  return run_on_input(arguments, [](FlamegraphArguments& given) {
    present::FlameGraphOptions& chosen = given.picture;
    // A larger font needs higher rows, unless these were chosen as well.
    constexpr double kLeast = 1.35;
    if (chosen.frame_height == present::FlameGraphOptions{}.frame_height) {
      chosen.frame_height = std::max(chosen.frame_height, std::ceil(chosen.font_size * kLeast) + 1);
    }
    while (chosen.name_type.ends_with(':'))
      chosen.name_type.pop_back();  // "Function:", as flamegraph.pl wants it
    return run_flamegraph(given);
  });
}

}  // namespace fathom::cli
