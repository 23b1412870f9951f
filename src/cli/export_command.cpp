// fathom export: a recording in somebody else's format.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "analysis/core/call_tree.h"
#include "analysis/core/words.h"
#include "analysis/summary/report.h"
#include "cli/command.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "cli/selection_options.h"
#include "cli/version.h"
#include "formats/packer.h"
#include "open/open_profile.h"
#include "present/exports/firefox_writer.h"
#include "present/exports/folded_writer.h"
#include "present/exports/heaptrack_writer.h"
#include "present/exports/massif_writer.h"
#include "present/exports/pprof_writer.h"
#include "present/exports/speedscope_writer.h"
#include "present/sentences/quality_sentences.h"

namespace fathom::cli {
namespace {

struct ExportArguments {
  std::string file;
  std::string format;
  OutputPath output;
  SelectionOptions selection;
  bool fold_generics = false, fold_idle = false, mark_inlined = false;
};

// What a writer is given.
struct ExportInput {
  const model::Profile& profile;
  analysis::TreeOptions tree;
  const ExportArguments& arguments;
};

Result<std::string> export_folded(const ExportInput& input) {
  const analysis::CallTree tree = analysis::build_call_tree(input.profile, input.tree);
  if (tree.samples == 0) {
    return fail(ErrorKind::kNotFound,
                fmt::format("no samples of metric {} in this selection", model::to_string(tree.metric)),
                "fathom report FILE says what the file holds");
  }
  return present::write_folded(tree, {.mark_inlined = input.arguments.mark_inlined});
}

Result<std::string> export_massif(const ExportInput& input) {
  const Result<present::MassifFile> file = present::make_massif(input.profile, input.tree.selection);
  if (!file) return tl::unexpected(file.error());
  return present::massif_text(*file);
}

Result<std::string> export_ms_print(const ExportInput& input) {
  const Result<present::MassifFile> file = present::make_massif(input.profile, input.tree.selection);
  if (!file) return tl::unexpected(file.error());
  return present::ms_print_text(*file);
}

Result<std::string> export_heaptrack(const ExportInput& input) {
  formats::Packer packer(formats::packing_of(input.arguments.output.path));
  const auto take = [&packer](std::string_view text) { packer.add(text); };
  const auto written = present::write_heaptrack(input.profile, {.selection = input.tree.selection}, take);
  if (!written) return tl::unexpected(written.error());
  for (const std::string& note : written->notes) say("fathom: {}\n", note);
  return packer.finish();
}

// What is known about the truth of the numbers goes along with them.
std::vector<std::string> comments_for(const ExportInput& input) {
  const std::string version = version_text();
  std::vector<std::string> comments{version.substr(0, version.find('\n'))};
  if (!input.profile.meta.target.empty()) comments.push_back(input.profile.meta.target);
  analysis::ReportOptions options;
  options.selection = input.tree.selection;
  if (const Result<analysis::Report> report = analysis::make_report(input.profile, options))
    for (const present::Complaint& complaint : present::complaints_of(*report))
      comments.push_back(complaint.text);
  for (const std::string& note : input.profile.quality.notes) comments.push_back(note);
  return comments;
}

Result<std::string> packed(std::string_view bytes, formats::Packing packing) {
  formats::Packer packer(packing);
  packer.add(bytes);
  return packer.finish();
}

Result<std::string> export_pprof(const ExportInput& input) {
  const std::string& path = input.arguments.output.path;
  if (is_standard_output(path) && ::isatty(STDOUT_FILENO) == 1)
    return fail(ErrorKind::kUsage, "a pprof profile is binary, and not for a terminal", "-o FILE.pb.gz");
  const Result<std::string> bytes = present::write_pprof(
      input.profile, {input.tree.selection, input.tree.fold_generics, comments_for(input)});
  if (!bytes) return tl::unexpected(bytes.error());
  // Its readers expect it packed, whatever the file is called; a name without .gz that ends in .pb asks for it as it is.
  const formats::Packing asked = formats::packing_of(path);
  return packed(*bytes,
                asked != formats::Packing::kNone || path.ends_with(".pb") ? asked : formats::Packing::kGzip);
}

Result<std::string> export_speedscope(const ExportInput& input) {
  present::SpeedscopeOptions options{.selection = input.tree.selection,
                                     .fold_generics = input.tree.fold_generics};
  if (!input.arguments.selection.metric.empty()) options.metrics = {input.tree.selection.metric};
  const Result<std::string> text = present::write_speedscope(input.profile, options);
  if (!text) return text;
  return packed(*text, formats::packing_of(input.arguments.output.path));
}

Result<std::string> export_firefox(const ExportInput& input) {
  present::FirefoxOptions options{.selection = input.tree.selection,
                                  .fold_generics = input.tree.fold_generics};
  const std::string version = version_text();
  options.version = version.substr(0, version.find('\n'));
  const Result<std::string> text = present::write_firefox(input.profile, options);
  if (!text) return text;
  return packed(*text, formats::packing_of(input.arguments.output.path));
}

// One row per format that can be written.
struct ExportFormat {
  std::string_view name;
  std::string_view ending;  // of files, for -o without --to
  Result<std::string> (*write)(const ExportInput&);
};
constexpr ExportFormat kFormats[] = {
    {"firefox", ".firefox.json", export_firefox},
    {"folded", ".folded", export_folded},
    {"heaptrack", ".heaptrack", export_heaptrack},
    {"massif", "massif.out", export_massif},
    {"ms_print", ".ms_print", export_ms_print},
    {"pprof", ".pb", export_pprof},
    {"speedscope", ".speedscope.json", export_speedscope},
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
  const Result<model::Profile> profile = open_selected(arguments.file, arguments.selection);
  if (!profile) return tl::unexpected(profile.error());
  const Result<analysis::Selection> selection = selection_from(arguments.selection, *profile);
  if (!selection) return tl::unexpected(selection.error());
  analysis::TreeOptions tree;
  tree.selection = *selection;
  tree.fold_generics = arguments.fold_generics;
  tree.selection.fold_idle = arguments.fold_idle;
  const Result<std::string> content = (*format)->write({*profile, tree, arguments});
  if (!content) return within(arguments.file, content.error());
  const Result<> written = write_output(*content, arguments.output);
  if (!written) return tl::unexpected(written.error());
  return kDone;
}

}  // namespace

Run add_export(CLI::App& app) {
  auto arguments = std::make_shared<ExportArguments>();
  app.add_option("file", arguments->file,
                 "recording, heap dump of jemalloc, folded stacks or perf script text; - for standard input")
      ->required()
      ->type_name("FILE");
  add_dump_inputs(app, arguments->selection.dumps);
  app.add_option("--to,--format", arguments->format,
                 "folded, heaptrack (packed where -o ends in .gz or .zst), massif, ms_print, pprof, "
                 "speedscope (default: by the "
                 "ending of -o)")
      ->type_name("FORMAT");
  add_output_options(app, arguments->output, "file to write instead of standard output");
  add_selection_options(app, arguments->selection);
  app.add_flag("--fold-generics", arguments->fold_generics, "take Vec<u8>::push and Vec<u16>::push together");
  app.add_flag("--fold-idle", arguments->fold_idle, "waits of idle workers as one frame per thread");
  app.add_flag("--mark-inlined", arguments->mark_inlined, "folded: _[i] after calls that were inlined");
  return [arguments] { return run_export(*arguments); };
}

}  // namespace fathom::cli
