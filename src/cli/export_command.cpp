// fathom export: a recording in another tool's format.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "analysis/core/call_tree.h"
#include "analysis/core/empty_selection.h"
#include "analysis/core/thin_samples.h"
#include "analysis/core/words.h"
#include "analysis/summary/report.h"
#include "cli/code_exports.h"
#include "cli/command.h"
#include "cli/frozen_page.h"
#include "cli/newest_recording.h"
#include "cli/notices.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/output_kind.h"
#include "cli/selection_options.h"
#include "cli/version.h"
#ifdef FATHOM_HAS_PUSH
#include "cli/push_destinations.h"
#include "tools/push/otlp.h"
#endif
#include "base/packed/packer.h"
#include "formats/open/open_profile.h"
#include "present/callgraph/call_graph_svg.h"
#include "present/callgraph/dot_writer.h"
#include "present/exports/callgrind_writer.h"
#include "present/exports/firefox_writer.h"
#include "present/exports/folded_writer.h"
#include "present/exports/heaptrack_writer.h"
#include "present/exports/massif_writer.h"
#include "present/exports/perf_script_writer.h"
#include "present/exports/perfetto_writer.h"
#include "present/exports/pprof_writer.h"
#include "present/exports/recording_json.h"
#include "present/exports/speedscope_writer.h"
#include "present/exports/sql_writer.h"
#include "present/sentences/quality_sentences.h"
#include "present/text/text_table.h"

namespace fathom::cli {
namespace {

struct ExportArguments {
  std::string file;
  std::string format;
  OutputPath output;
  SelectionOptions selection;
  bool fold_generics = false, fold_idle = false, mark_inlined = false, parts = false, experimental = false;
  std::optional<std::size_t> most_samples;
  std::optional<std::uint32_t> functions;  // of a call graph
  std::optional<double> percent_limit;
  std::string binary;                                                    // of profiles for compilers
  std::string time_unit;                                                 // of massif.out; empty: ms
  std::size_t detailed_every = present::MassifOptions().detailed_every;  // likewise
};

// What a writer is given.
struct ExportInput {
  const model::Profile& profile;
  analysis::TreeOptions tree;
  const ExportArguments& arguments;
};

// Of a report what complaints are made of: the rest would take longer than the export.
analysis::Report quality_of(const ExportInput& input) {
  analysis::Report report;
  report.profile = &input.profile;
  report.selection = input.tree.selection;
  report.tree =
      analysis::build_call_tree(input.profile, {.selection = input.tree.selection, .thread_roots = false});
  report.modules = analysis::module_table(report.tree);
  report.quality = analysis::judge_quality(input.profile, report.tree, report.modules);
  report.heap = analysis::make_heap_report(input.profile, input.tree.selection);
  return report;
}

// What is known about the truth of the numbers goes along with them: the sentence of the report first.
std::vector<std::string> quality_comments(const ExportInput& input) {
  const analysis::Report report = quality_of(input);
  std::vector<std::string> comments{present::quality_sentence(report)};
  for (const present::Complaint& complaint : present::complaints_of(report))
    comments.push_back(complaint.text);
  for (const std::string& note : input.profile.quality.notes) comments.push_back(note);
  return comments;
}

// Piece by piece: the text may be ten times as large as the profile.
Result<> stream_folded(const ExportInput& input, const std::function<void(std::string_view)>& take) {
  const analysis::CallTree tree = analysis::build_call_tree(input.profile, input.tree);
  if (tree.samples == 0)
    return tl::unexpected(analysis::nothing_selected(input.profile, input.tree.selection));
  present::write_folded(tree, {.mark_inlined = input.arguments.mark_inlined}, take);
  return {};
}

present::MassifOptions massif_options(const ExportArguments& arguments) {
  present::MassifOptions options;
  if (arguments.time_unit == "B") options.unit = present::MassifUnit::kBytes;
  options.detailed_every = arguments.detailed_every;
  return options;
}

Result<> stream_perf_script(const ExportInput& input, const std::function<void(std::string_view)>& take) {
  return present::write_perf_script(input.profile,
                                    {.selection = input.tree.selection,
                                     .fold_generics = input.tree.fold_generics,
                                     .comments = quality_comments(input)},
                                    take);
}

Result<std::string> export_massif(const ExportInput& input) {
  const Result<present::MassifFile> file =
      present::make_massif(input.profile, input.tree.selection, massif_options(input.arguments));
  if (!file) return tl::unexpected(file.error());
  return present::massif_text(*file);
}

Result<std::string> export_ms_print(const ExportInput& input) {
  const Result<present::MassifFile> file =
      present::make_massif(input.profile, input.tree.selection, massif_options(input.arguments));
  if (!file) return tl::unexpected(file.error());
  return present::ms_print_text(*file);
}

Result<std::string> export_heaptrack(const ExportInput& input) {
  packed::Packer packer(packed::packing_of(input.arguments.output.path));
  const auto take = [&packer](std::string_view text) { packer.add(text); };
  const auto written = present::write_heaptrack(input.profile, {.selection = input.tree.selection}, take);
  if (!written) return tl::unexpected(written.error());
  for (const std::string& note : written->notes) say("fathom: {}\n", note);
  return packer.finish();
}

std::string first_line_of_version() {
  const std::string version = version_text();
  return version.substr(0, version.find('\n'));
}

// For a format without a place for the version and the target.
std::vector<std::string> comments_for(const ExportInput& input) {
  std::vector<std::string> comments{first_line_of_version()};
  if (!input.profile.meta.target.empty()) comments.push_back(input.profile.meta.target);
  for (std::string& comment : quality_comments(input)) comments.push_back(std::move(comment));
  return comments;
}

Result<std::string> packed(std::string_view bytes, packed::Packing packing) {
  packed::Packer packer(packing);
  packer.add(bytes);
  return packer.finish();
}

// Readers of pprof expect it packed, whatever the file is called; a name without .gz that ends in .pb asks for it as it is.
packed::Packing packing_of_pprof(const std::string& path) {
  const packed::Packing asked = packed::packing_of(path);
  return asked != packed::Packing::kNone || path.ends_with(".pb") ? asked : packed::Packing::kGzip;
}

Result<std::string> export_pprof(const ExportInput& input) {
  const std::string& path = input.arguments.output.path;
  if (is_standard_output(path) && ::isatty(STDOUT_FILENO) == 1)
    return fail(ErrorKind::kUsage, "a pprof profile is binary, so it does not go to a terminal",
                "-o FILE.pb.gz");
  const Result<std::string> bytes = present::write_pprof(
      input.profile, {input.tree.selection, input.tree.fold_generics, comments_for(input)});
  if (!bytes) return tl::unexpected(bytes.error());
  return packed(*bytes, packing_of_pprof(path));
}

// "x.pb.gz": "x.1.pb.gz", "x.2.pb.gz" and so on.
Result<int> export_pprof_parts(const ExportInput& input) {
  const OutputPath& output = input.arguments.output;
  if (output.path.empty() || is_standard_output(output.path))
    return fail(ErrorKind::kUsage, "several parts are several files", "--parts -o FILE.pb.gz");
  const present::PprofLimits limits;
  const auto parts = present::write_pprof_parts(input.profile,
                                                {.selection = input.tree.selection,
                                                 .fold_generics = input.tree.fold_generics,
                                                 .comments = comments_for(input),
                                                 .for_server = true},
                                                limits);
  if (!parts) return within(input.arguments.file, parts.error());
  std::size_t dot = output.path.rfind(".pb");
  if (dot == std::string::npos) dot = output.path.size();
  for (std::size_t i = 0; i < parts->size(); ++i) {
    OutputPath part = output;
    part.path.insert(dot, fmt::format(".{}", i + 1));
    const Result<std::string> content = packed((*parts)[i], packing_of_pprof(output.path));
    if (!content) return tl::unexpected(content.error());
    if (const Result<> written = write_output(*content, part); !written)
      return tl::unexpected(written.error());
    if ((*parts)[i].size() > limits.most_bytes)
      say("fathom: {} has {} unpacked: one of its stacks is that large\n", part.path,
          analysis::bytes(static_cast<double>((*parts)[i].size())));
  }
  say("fathom: {}, each of less than 16,000 samples; their sums add up to those of one file\n",
      analysis::counted(parts->size(), "part"));
  return kDone;
}

Result<std::string> export_callgrind(const ExportInput& input) {
  const Result<std::string> text =
      present::write_callgrind(input.profile, {.selection = input.tree.selection,
                                               .fold_generics = input.tree.fold_generics,
                                               .version = first_line_of_version(),
                                               .comments = quality_comments(input)});
  if (!text) return text;
  return packed(*text, packed::packing_of(input.arguments.output.path));
}

Result<present::CallGraph> call_graph(const ExportInput& input) {
  present::CallGraphOptions options{.selection = input.tree.selection,
                                    .fold_generics = input.tree.fold_generics};
  if (input.arguments.functions) options.most_functions = *input.arguments.functions;
  if (input.arguments.percent_limit) options.least_share = *input.arguments.percent_limit / 100;
  constexpr std::size_t kWidth = 100;
  const std::string quality =
      present::fill("Quality: ", present::quality_sentence(quality_of(input)), kWidth, 2);
  for (std::size_t at = 0; at < quality.size(); at = quality.find('\n', at) + 1)
    options.comments.push_back(quality.substr(at, quality.find('\n', at) - at));
  return present::call_graph_of(input.profile, options);
}

Result<std::string> export_dot(const ExportInput& input) {
  const Result<present::CallGraph> graph = call_graph(input);
  if (!graph) return tl::unexpected(graph.error());
  return present::write_dot(*graph);
}

Result<std::string> export_call_graph(const ExportInput& input) {
  const Result<present::CallGraph> graph = call_graph(input);
  if (!graph) return tl::unexpected(graph.error());
  return present::write_call_graph_svg(*graph);
}

Result<std::string> export_perfetto(const ExportInput& input) {
  const std::string& path = input.arguments.output.path;
  if (is_standard_output(path) && ::isatty(STDOUT_FILENO) == 1)
    return fail(ErrorKind::kUsage, "a Perfetto trace is binary, so it does not go to a terminal",
                "-o FILE.pftrace");
  const Result<std::string> bytes =
      present::write_perfetto(input.profile, {.selection = input.tree.selection,
                                              .fold_generics = input.tree.fold_generics,
                                              .comments = quality_comments(input)});
  if (!bytes) return bytes;
  return packed(*bytes, packed::packing_of(path));
}

// The whole recording: a selection would be ignored silently.
Result<> check_whole(const ExportArguments& arguments, std::string_view format) {
  const SelectionOptions& selection = arguments.selection;
  if (selection.metric.empty() && !selection.thread && !selection.pid && !selection.from.given() &&
      !selection.until.given() && selection.focus.empty() && selection.ignore.empty())
    return {};
  return fail(ErrorKind::kUsage,
              fmt::format("--to {} holds the recording whole: nothing is selected from it", format),
              "without --metric, --thread, --pid, --from, --until, --focus and --ignore");
}

Result<std::string> export_json(const ExportInput& input) {
  if (const Result<> whole = check_whole(input.arguments, "json"); !whole)
    return tl::unexpected(whole.error());
  packed::Packer packer(packed::packing_of(input.arguments.output.path));
  present::write_recording_json(input.profile, first_line_of_version(),
                                [&packer](std::string_view text) { packer.add(text); });
  return packer.finish();
}

Result<std::string> export_sql(const ExportInput& input) {
  if (const Result<> whole = check_whole(input.arguments, "sql"); !whole)
    return tl::unexpected(whole.error());
  packed::Packer packer(packed::packing_of(input.arguments.output.path));
  present::write_sql(input.profile, first_line_of_version(),
                     [&packer](std::string_view text) { packer.add(text); });
  return packer.finish();
}

Result<std::string> export_html(const ExportInput& input) {
  if (const Result<> whole = check_whole(input.arguments, "html"); !whole)
    return tl::unexpected(whole.error());
  if (is_standard_output(input.arguments.output.path) && ::isatty(STDOUT_FILENO) == 1)
    return fail(ErrorKind::kUsage, "a page is not written to a terminal", "-o FILE.html");
  return frozen_page(input.profile, input.arguments.file);
}

Result<std::string> export_speedscope(const ExportInput& input) {
  present::SpeedscopeOptions options{.selection = input.tree.selection,
                                     .fold_generics = input.tree.fold_generics};
  if (!input.arguments.selection.metric.empty()) options.metrics = {input.tree.selection.metric};
  options.comments = quality_comments(input);
  const Result<std::string> text = present::write_speedscope(input.profile, options);
  if (!text) return text;
  return packed(*text, packed::packing_of(input.arguments.output.path));
}

Result<std::string> export_firefox(const ExportInput& input) {
  present::FirefoxOptions options{.selection = input.tree.selection,
                                  .fold_generics = input.tree.fold_generics};
  options.version = first_line_of_version();
  options.comments = quality_comments(input);
  const Result<std::string> text = present::write_firefox(input.profile, options);
  if (!text) return text;
  return packed(*text, packed::packing_of(input.arguments.output.path));
}

#ifdef FATHOM_HAS_PUSH
Result<std::string> export_otlp(const ExportInput& input) {
  if (const Result<> whole = check_whole(input.arguments, "otlp"); !whole)
    return tl::unexpected(whole.error());
  if (!input.arguments.experimental) return experimental_error("--to otlp");
  const std::string& path = input.arguments.output.path;
  if (is_standard_output(path) && ::isatty(STDOUT_FILENO) == 1)
    return fail(ErrorKind::kUsage, "a request of OTLP is binary, and not for a terminal", "-o FILE.otlp");
  const auto profiles = push::server_profiles(input.profile, {UINT64_MAX, SIZE_MAX});
  if (!profiles) return tl::unexpected(profiles.error());
  const auto bytes = push::otlp_request(*profiles, push::labels_of(input.profile, {}));
  if (!bytes) return bytes;
  return packed(*bytes, packed::packing_of(path));
}
#endif

Result<std::string> export_bolt(const ExportInput& input) {
  return bolt_export(input.profile, input.tree.selection, input.arguments.binary);
}
Result<std::string> export_sample_profile(const ExportInput& input) {
  return sample_profile_export(input.profile, input.tree.selection, input.arguments.binary,
                               input.arguments.selection.symbols);
}

// One row per format that can be written. Longer endings stand before those that they end in.
struct ExportFormat {
  std::string_view name;
  std::string_view ending;                           // of files, for -o without --to
  Result<std::string> (*write)(const ExportInput&);  // null: it is written in pieces
  Result<> (*stream)(const ExportInput&, const std::function<void(std::string_view)>& take) = nullptr;
};
constexpr ExportFormat kFormats[] = {
    {"bolt", ".fdata", export_bolt},
    {"callgraph", ".callgraph.svg", export_call_graph},
    {"callgrind", ".callgrind", export_callgrind},
    {"dot", ".dot", export_dot},
    {"firefox", ".firefox.json", export_firefox},
    {"folded", ".folded", nullptr, stream_folded},
    {"heaptrack", ".heaptrack", export_heaptrack},
    {"html", ".html", export_html},
    {"massif", "massif.out", export_massif},
    {"ms_print", ".ms_print", export_ms_print},
#ifdef FATHOM_HAS_PUSH
    {"otlp", ".otlp", export_otlp},
#endif
    {"perfetto", ".pftrace", export_perfetto},
    {"perf-script", ".perf", nullptr, stream_perf_script},
    {"pprof", ".pb", export_pprof},
    {"sample-profile", ".afdo", export_sample_profile},
    {"speedscope", ".speedscope.json", export_speedscope},
    {"sql", ".sql", export_sql},
    {"json", ".json", export_json},
};

Result<const ExportFormat*> choose_format(const ExportArguments& arguments) {
  std::string names;
  std::string_view file = arguments.output.path;
  for (const std::string_view packed : {".gz", ".zst"})
    if (file.ends_with(packed)) file.remove_suffix(packed.size());
  for (const ExportFormat& format : kFormats) {
    const bool chosen =
        arguments.format.empty() ? file.ends_with(format.ending) : arguments.format == format.name;
    if (chosen) return &format;
    names += (names.empty() ? "--to " : ", --to ") + std::string(format.name);
  }
  if (arguments.format.empty()) return fail(ErrorKind::kUsage, "which format?", names);
  return fail(ErrorKind::kUsage, fmt::format("there is no format '{}'", arguments.format), names);
}

Result<int> run_export(const ExportArguments& arguments) {
  const Result<const ExportFormat*> format = choose_format(arguments);
  if (!format) return tl::unexpected(format.error());
  const bool drawn = (*format)->write == export_call_graph;
  if (auto fitting = fits_ending(arguments.output.path, drawn ? OutputKind::kPicture : OutputKind::kExported);
      !fitting)
    return tl::unexpected(fitting.error());
  if (arguments.parts && (*format)->write != export_pprof)
    return fail(ErrorKind::kUsage, "--parts works only with pprof", "--to pprof --parts");
  if ((arguments.functions || arguments.percent_limit) && !drawn && (*format)->write != export_dot)
    return fail(ErrorKind::kUsage, "--functions and --percent-limit work only with a call graph",
                "--to callgraph, --to dot");
  if (!arguments.binary.empty() && (*format)->write != export_bolt &&
      (*format)->write != export_sample_profile)
    return fail(ErrorKind::kUsage, "--binary works only with a profile for a compiler",
                "--to bolt, --to sample-profile");
  SelectionOptions reading = arguments.selection;
  reading.all_events = (*format)->write == export_json || (*format)->write == export_sql;
  Result<model::Profile> profile = open_selected(arguments.file, reading);
  if (!profile) return tl::unexpected(profile.error());
  if (arguments.most_samples)
    if (const std::size_t each = analysis::thin_samples(*profile, *arguments.most_samples); each > 1)
      say("fathom: one of {} samples is kept, and stands for them\n", each);
  const Result<analysis::Selection> selection = selection_from(arguments.selection, *profile);
  if (!selection) return tl::unexpected(selection.error());
  analysis::TreeOptions tree;
  tree.selection = *selection;
  tree.fold_generics = arguments.fold_generics;
  tree.selection.fold_idle = arguments.fold_idle;
  if (arguments.parts) return export_pprof_parts({*profile, tree, arguments});
  if ((*format)->stream != nullptr) {
    OutputStream output(arguments.output);
    const ExportInput input{*profile, tree, arguments};
    const Result<> streamed = (*format)->stream(input, [&](std::string_view piece) { output.add(piece); });
    if (!streamed) return within(arguments.file, streamed.error());
    if (const Result<> written = output.finish(); !written) return tl::unexpected(written.error());
    // Tools that read folded stacks take a comment for a damaged line.
    if ((*format)->stream == stream_folded)
      say("fathom: quality: {}\n", present::quality_sentence(quality_of(input)));
    return kDone;
  }
  const Result<std::string> content = (*format)->write({*profile, tree, arguments});
  if (!content) return within(arguments.file, content.error());
  constexpr std::size_t kMuchForABrowser = std::size_t{256} << 20;
  if (((*format)->write == export_firefox || (*format)->write == export_speedscope) &&
      content->size() > kMuchForABrowser)
    say("fathom: {} may be too much for the page that shows it; try: --max-samples 500000, or --from and --until\n",
        analysis::bytes(static_cast<double>(content->size())));
  return end_with_output(*content, arguments.output);
}

}  // namespace

Result<> export_to(const std::string& recording, const std::string& format, const std::string& path,
                   bool force) {
  ExportArguments arguments;
  arguments.file = recording;
  arguments.format = format;
  arguments.output = {path, force};
  const Result<int> written = run_export(arguments);
  return written ? Result<>() : tl::unexpected(written.error());
}

Run add_export(CLI::App& app) {
  auto arguments = std::make_shared<ExportArguments>();
  app.add_option("file", arguments->file,
                 "recording or another tool's file; - for standard input; default: newest here")
      ->type_name("FILE");
  add_dump_inputs(app, arguments->selection.dumps);
  begin_group(app, kOutputGroup);
  app.add_option(
         "--to,--format", arguments->format,
         "bolt, callgraph, callgrind, dot, firefox, folded, heaptrack, html, json, massif, ms_print, otlp, perfetto, perf-script, pprof, sample-profile, speedscope, sql (default: by the ending of -o)")
      ->type_name("FORMAT");
  add_output_options(app, arguments->output, "file (default: standard output); .gz and .zst pack it");
  add_selection_options(app, arguments->selection);
  begin_group(app, kRareGroup);
  app.add_flag("--fold-generics", arguments->fold_generics, "merge Vec<u8>::push and Vec<u16>::push");
  app.add_flag("--fold-idle", arguments->fold_idle, "show the waits of idle workers as one frame per thread");
  app.add_flag("--mark-inlined", arguments->mark_inlined, "folded: mark inlined calls with _[i]");
  app.add_flag("--parts", arguments->parts,
               "pprof: write several files below 16,000 samples and 1.9 MB, the limits of some servers");
  app.add_flag("--experimental", arguments->experimental,
               "allow --to otlp, a format that is still changing (version 1.11.0)");
  app.add_option("--time-unit", arguments->time_unit,
                 "massif, ms_print: axis in ms, or in B: bytes allocated and freed (default: ms)")
      ->check(CLI::IsMember({"ms", "B"}))
      ->type_name("UNIT");
  app.add_option("--detailed-freq", arguments->detailed_every,
                 "massif, ms_print: one snapshot in N has a call tree (default: 10)")
      ->check(CLI::Range(1, 100))
      ->type_name("N");
  app.add_option("--max-samples", arguments->most_samples,
                 "keep at most N CPU samples; each stands for its neighbours in time")
      ->check(CLI::Range(std::size_t{100}, std::size_t{1} << 40))
      ->type_name("N");
  app.add_option("--functions", arguments->functions,
                 "callgraph, dot: at most N functions, by total (default: 80; 0: all)")
      ->check(whole_number())
      ->type_name("N");
  app.add_option(
         "--binary", arguments->binary,
         "bolt, sample-profile: the program or library to optimise (default: the one with the most samples)")
      ->type_name("PATH");
  app.add_option("--percent-limit", arguments->percent_limit,
                 "callgraph, dot: hide functions and calls below this share (default: 0.5)")
      ->type_name("PERCENT")
      ->check(number_between(0.0, 100.0));
  return run_on_input(arguments, run_export);
}

}  // namespace fathom::cli
