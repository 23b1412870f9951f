// fathom timeline: the heap over time as one SVG.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "analysis/core/words.h"
#include "cli/command.h"
#include "cli/newest_recording.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/selection_options.h"
#include "model/heap_exactness.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/quality_sentences.h"
#include "present/svg/heap_timeline_svg.h"

namespace fathom::cli {
namespace {

struct TimelineArguments {
  std::string file;
  OutputPath output;
  std::string by = "function", time_unit = "ms";
  SelectionOptions selection;
  analysis::TimelineOptions timeline;
  present::HeapTimelineOptions picture;
};

// "a/b.fathom" -> "a/b-timeline.svg": the flame graph next to it is "a/b.svg".
std::string timeline_beside(const std::string& input) {
  const std::size_t name = input.rfind('/') + 1;  // 0 without a slash
  const std::size_t dot = input.rfind('.');
  return (dot == std::string::npos || dot <= name ? input : input.substr(0, dot)) + "-timeline.svg";
}

// Of the whole recording.
std::string quality_of(const model::Profile& profile) {
  std::uint64_t unwalked = 0, incomplete = 0;
  for (const model::Heap& heap : profile.heap.heaps) {
    unwalked += heap.unwalked;
    incomplete += heap.incomplete;
  }
  const model::HeapExactness exactness = model::exactness_of(profile);
  const auto number = [](std::uint64_t value) {
    return analysis::with_commas(static_cast<std::int64_t>(value));
  };
  return fmt::format("Quality: {} of the heap; {} lost; {} without a stack, {} with one that is cut short.",
                     analysis::counted(exactness.events, "event"), number(exactness.lost()), number(unwalked),
                     number(incomplete));
}

Result<int> run_timeline(const TimelineArguments& arguments) {
  if (auto fitting = fits_ending(arguments.output.path, OutputKind::kPicture); !fitting)
    return tl::unexpected(fitting.error());
  OutputPath output = arguments.output;
  if (output.path.empty())
    output.path = arguments.file == "-" ? "-" : timeline_beside(name_of_input(arguments.file));
  const bool to_standard_output = is_standard_output(output.path);
  if (to_standard_output && ::isatty(STDOUT_FILENO) == 1)
    return fail(ErrorKind::kUsage, "a picture is not written to a terminal",
                "-o FILE.svg, or fathom report FILE --timeline for a chart in the terminal");
  const Result<model::Profile> profile = open_selected(arguments.file, arguments.selection);
  if (!profile) return tl::unexpected(profile.error());
  if (arguments.output.path.empty() && !to_standard_output)
    output.path = timeline_beside(result_name(*profile, arguments.file));
  const Result<analysis::Selection> selection = selection_from(arguments.selection, *profile);
  if (!selection) return tl::unexpected(selection.error());
  present::HeapTimelineOptions picture = arguments.picture;
  analysis::TimelineOptions options = arguments.timeline;
  options.selection = *selection;
  if (!arguments.selection.from.given()) options.selection.from_ns.reset();
  options.by = analysis::timeline_by_from(arguments.by).value_or(options.by);
  options.columns = present::timeline_columns(picture);
  options.moved = arguments.time_unit == "B";
  const std::optional<analysis::HeapTimeline> timeline = analysis::make_heap_timeline(*profile, options);
  if (!timeline)
    return fail(ErrorKind::kNotFound, arguments.file + ": the heap was not recorded", "fathom record --heap");
  if (picture.title.empty())
    picture.title = fmt::format(
        "Live heap over {}, by {}: {}", timeline->moved.empty() ? "time" : "bytes allocated and freed",
        arguments.by, profile->meta.target.empty() ? "all" : present::target_without_folder(*profile));
  if (const auto merged = profile->meta.facts.find("merge"); merged != profile->meta.facts.end())
    picture.notes.push_back(merged->second);
  picture.notes.push_back(quality_of(*profile));
  if (const std::string cost = present::own_cost_sentence(*profile); !cost.empty())
    picture.notes.push_back(cost + ".");
  if (timeline->points.empty())
    return fail(ErrorKind::kNotFound, arguments.file + ": nothing was live in this selection",
                "fathom report FILE shows what the file holds");
  const Result<> written = write_output(present::heap_timeline_svg(*timeline, picture), output);
  if (!written) return tl::unexpected(written.error());
  if (!to_standard_output) fmt::print(stderr, "{}\n", output.path);
  return kDone;
}

}  // namespace

Run add_timeline(CLI::App& app) {
  auto arguments = std::make_shared<TimelineArguments>();
  app.add_option("file", arguments->file,
                 "recording or another tool's file; - for standard input; default: newest here")
      ->type_name("FILE");
  add_dump_inputs(app, arguments->selection.dumps);
  begin_group(app, kOutputGroup);
  add_output_options(app, arguments->output,
                     "picture; - for standard output (default: FILE with -timeline.svg)");
  begin_group(app, kPictureGroup);
  app.add_option("--by", arguments->by, "what each band is")
      ->check(CLI::IsMember({"function", "module", "thread", "allocator"}))
      ->capture_default_str();
  app.add_option("--groups", arguments->timeline.groups, "number of bands; the rest is one band")
      ->check(CLI::Range(1, 24))
      ->capture_default_str();
  app.add_option("--time-unit", arguments->time_unit, "axis in ms, or in B: bytes allocated and freed")
      ->check(CLI::IsMember({"ms", "B"}))
      ->type_name("UNIT")
      ->capture_default_str();
  add_selection_options(app, arguments->selection);
  for (const char* name : {"--metric", "--unit", "--at"}) app.remove_option(app.get_option(name));
  add_time_option(app, "--to", arguments->selection.until, "")->group("");
  begin_group(app, kPictureGroup);
  app.add_option("--title", arguments->picture.title, "heading (default: the target)");
  app.add_option("--subtitle", arguments->picture.subtitle, "line below the heading (default: the peak)");
  app.add_option("--width", arguments->picture.width, "width in pixels")
      ->check(number_between(300.0, 20000.0))
      ->capture_default_str();
  app.add_option("--height", arguments->picture.height, "height of the chart in pixels")
      ->check(number_between(100.0, 5000.0))
      ->capture_default_str();
  arguments->selection.dumps.initial.kind = dumps::Merge::Kind::kAll;
  return run_on_input(arguments, run_timeline);
}

}  // namespace fathom::cli
