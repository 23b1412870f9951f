// fathom export: a recording in somebody else's format.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "analysis/core/call_tree.h"
#include "analysis/core/words.h"
#include "cli/command.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "cli/selection_options.h"
#include "formats/packer.h"
#include "open/open_profile.h"
#include "present/exports/folded_writer.h"
#include "present/exports/heaptrack_writer.h"
#include "present/exports/massif_writer.h"

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

// One row per format that can be written.
struct ExportFormat {
  std::string_view name;
  std::string_view ending;  // of files, for -o without --to
  Result<std::string> (*write)(const ExportInput&);
};
constexpr ExportFormat kFormats[] = {
    {"folded", ".folded", export_folded},
    {"heaptrack", ".heaptrack", export_heaptrack},
    {"massif", "massif.out", export_massif},
    {"ms_print", ".ms_print", export_ms_print},
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
                 "folded, heaptrack (packed where -o ends in .gz or .zst), massif, ms_print (default: by the "
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
