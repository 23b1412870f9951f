// fathom merge: recordings and files of other tools as one recording.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/core/words.h"
#include "cli/command.h"
#include "cli/no_file.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/save_recording.h"
#include "cli/selection_options.h"
#include "formats/open/inputs.h"
#include "formats/open/merge_profiles.h"

namespace fathom::cli {
namespace {

struct MergeArguments {
  std::string output;
  std::vector<std::string> inputs;
  DumpInputs dumps;
  std::string symbols;
  bool force = false;
};

bool is_heap_dump(const model::Profile& profile) {
  const auto format = profile.meta.facts.find("format");
  return format != profile.meta.facts.end() && format->second == "jemalloc heap dump";
}

// Dumps of one process hold the same blocks again and again, so all of them are one input.
Result<std::vector<open::MergeInput>> open_inputs(const MergeArguments& arguments) {
  std::vector<std::string> named = arguments.inputs;
  const auto others =
      std::ranges::stable_partition(named, [](const auto& input) { return !is_no_file(input); });
  const std::vector<std::string> not_files(others.begin(), others.end());
  named.erase(others.begin(), others.end());
  Result<std::vector<std::string>> files = open::files_of_inputs(named);
  if (!files) return tl::unexpected(files.error());
  files->insert(files->end(), not_files.begin(), not_files.end());
  std::vector<open::MergeInput> inputs;
  std::vector<std::string> dumps;
  std::optional<model::Profile> only_dump;  // a pipe is read once
  for (const std::string& file : *files) {
    Result<model::Profile> profile =
        open_with_names(file, {}, arguments.symbols, {}, {}, false, nullptr, {.name = "", .all = true});
    if (!profile) return tl::unexpected(profile.error());
    if (!is_heap_dump(*profile)) {
      inputs.push_back({file, std::move(*profile)});
      continue;
    }
    dumps.push_back(file);
    only_dump = dumps.size() == 1 ? std::optional(std::move(*profile)) : std::nullopt;
  }
  if (only_dump) {
    inputs.push_back({dumps.front(), std::move(*only_dump)});
  } else if (!dumps.empty()) {
    DumpInputs together = arguments.dumps;
    together.more.assign(dumps.begin() + 1, dumps.end());
    Result<model::Profile> profile = open_with_names(dumps.front(), {}, arguments.symbols, together);
    if (!profile) return tl::unexpected(profile.error());
    inputs.push_back(
        {fmt::format("{} and {} more dumps", dumps.front(), dumps.size() - 1), std::move(*profile)});
  }
  return inputs;
}

Result<int> run_merge(const MergeArguments& arguments) {
  Result<std::vector<open::MergeInput>> inputs = open_inputs(arguments);
  if (!inputs) return tl::unexpected(inputs.error());
  const std::size_t count = inputs->size();
  const Result<open::Merged> merged = open::merge_profiles(std::move(*inputs));
  if (!merged) return tl::unexpected(merged.error());
  if (const Result<> saved = save_recording(merged->profile, arguments.output, arguments.force); !saved)
    return tl::unexpected(saved.error());
  for (const std::string& note : merged->notes) say("fathom: {}\n", note);
  say("{}: {} as one, {}\n", arguments.output, analysis::counted(count, "input"),
      analysis::counted(merged->profile.samples.size() + merged->profile.waits.size(), "row"));
  return kDone;
}

}  // namespace

Run add_merge(CLI::App& app) {
  auto arguments = std::make_shared<MergeArguments>();
  app.add_option("out", arguments->output, "recording to write")->required()->type_name("OUT");
  app.add_option("inputs", arguments->inputs,
                 "recordings and files of other tools; patterns and folders work for heap dumps")
      ->required()
      ->type_name("IN");
  begin_group(app, kOutputGroup);
  app.add_flag("-f,--force", arguments->force, "OUT may be any regular file");
  add_merge_option(app, arguments->dumps);
  add_symbols_option(app, arguments->symbols);
  return [arguments] { return run_merge(*arguments); };
}

}  // namespace fathom::cli
