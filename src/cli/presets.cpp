#include "cli/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "analysis/core/words.h"
#include "cli/option_groups.h"
#include "cli/shell_words.h"

namespace fathom::cli {
namespace {

struct BuiltIn {
  std::string_view command, name, options, meaning;
};
constexpr BuiltIn kBuiltIn[] = {
    {"record", "dev", "--sources cpu,wait,memory,heap=exact", "everything, with every heap call: for tests"},
    {"record", "leak", "--leaks", "every heap call, and a list of leaks at the end"},
    {"record", "prod", "--sources cpu,wait,memory,heap -F 99",
     "everything at the lowest cost: for production"},
    {"record", "quick", "-d 10", "CPU time, waits and memory for 10 s"},
};

constexpr std::string_view kOption = "--preset";

// The options of one preset, in pieces: an option, and the values that follow it.
using Piece = std::vector<std::string>;

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && word != "--";
}

// The option that a word names: "--freq=99", "-F99" and "-F" are one. Null: the command has none of that name.
const CLI::Option* option_of(const CLI::App& command, std::string_view word) {
  const std::string name(word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2));
  return command.get_option_no_throw(name);
}

// Up to "--", behind which a command follows.
std::span<const std::string> options_in(const std::vector<std::string>& words) {
  return {words.begin(), std::ranges::find(words, "--")};
}

std::vector<std::string> names_given(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  const auto options = options_in(words);
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == kOption && i + 1 < options.size())
      names.push_back(options[i + 1]);
    else if (options[i].starts_with("--preset="))
      names.push_back(options[i].substr(kOption.size() + 1));
  }
  return names;
}

Result<std::vector<Piece>> pieces_of(const std::string& preset, const std::string& options) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::kUsage, fmt::format("the preset {} {}", analysis::printable(preset), why),
                "options alone, such as \"-d 60 --heap\"");
  };
  const auto words = shell_words(options);
  if (!words) return refuse("has a quote without an end");
  std::vector<Piece> pieces;
  for (const std::string& word : *words) {
    if (word == "--") return refuse("holds a command");
    if (is_option(word) && (word == kOption || word.starts_with("--preset=")))
      return refuse("names a preset");
    if (is_option(word))
      pieces.push_back({word});
    else if (pieces.empty())
      return refuse("begins with a word that is not an option");
    else
      pieces.back().push_back(word);
  }
  return pieces;
}

std::optional<std::string> options_of_preset(const std::string& command, const std::string& name,
                                             const PresetFile* project) {
  if (project != nullptr)
    if (const auto own = project->presets.find({command, name}); own != project->presets.end())
      return own->second;
  const auto* found = std::ranges::find_if(
      kBuiltIn, [&](const BuiltIn& preset) { return preset.command == command && preset.name == name; });
  if (found == std::end(kBuiltIn)) return std::nullopt;
  return std::string(found->options);
}

Error no_such_preset(const std::string& command, const std::string& name, const PresetFile* project) {
  std::set<std::string> known;
  for (const BuiltIn& preset : kBuiltIn)
    if (preset.command == command) known.emplace(preset.name);
  if (project != nullptr)
    for (const auto& [key, unused] : project->presets)
      if (key.first == command) known.insert(key.second);
  return {ErrorKind::kUsage,
          fmt::format("there is no preset '{}' of fathom {}", analysis::printable(name), command),
          fmt::format("{}fathom help presets shows how to add one",
                      known.empty() ? "" : fmt::format("one of {}; ", fmt::join(known, ", ")))};
}

}  // namespace

void add_preset_option(CLI::App& command) {
  command
      .add_option(std::string(kOption), "options by name, from fathom or .fathom.toml: fathom help presets")
      ->type_name("NAME")
      ->group(kRareGroup);
}

bool names_preset(const std::vector<std::string>& words) {
  return !names_given(words).empty();
}

Result<std::vector<std::string>> expand_preset(const CLI::App& app, const std::vector<std::string>& words,
                                               const PresetFile* project) {
  const std::vector<std::string> names = names_given(words);
  if (names.empty()) return words;
  const std::string& command_name = words.front();
  const auto commands =
      app.get_subcommands([&](const CLI::App* each) { return each->get_name() == command_name; });
  const CLI::App* command = commands.empty() ? nullptr : commands.front();
  if (command == nullptr) return words;  // which is an error of its own
  if (names.size() > 1)
    return fail(ErrorKind::kUsage, "--preset is given twice", "one preset that has the options of both");
  const auto options = options_of_preset(command_name, names.front(), project);
  if (!options) return tl::unexpected<Error>(no_such_preset(command_name, names.front(), project));
  const auto pieces = pieces_of(names.front(), *options);
  if (!pieces) return tl::unexpected<Error>(pieces.error());
  std::set<const CLI::Option*> typed;
  for (const std::string& word : options_in(words))
    if (is_option(word)) typed.insert(option_of(*command, word));
  typed.erase(nullptr);
  std::vector<std::string> expanded{command_name};
  for (const Piece& piece : *pieces)
    if (!typed.contains(option_of(*command, piece.front())))
      expanded.insert(expanded.end(), piece.begin(), piece.end());
  expanded.insert(expanded.end(), words.begin() + 1, words.end());
  return expanded;
}

std::string presets_text(const PresetFile* project) {
  std::string text =
      "A preset is a set of options with a name: fathom record --preset quick -p PID.\nOptions that you type replace those of the preset.\n\nPresets of fathom\n";
  for (const BuiltIn& preset : kBuiltIn)
    text += fmt::format("  {:<18}{:<40}# {}\n", fmt::format("{} {}", preset.command, preset.name),
                        preset.options, preset.meaning);
  if (project != nullptr) {
    text += fmt::format("\nPresets of {}\n", analysis::printable(project->path));
    for (const auto& [key, options] : project->presets)
      text += fmt::format("  {:<18}{}\n", fmt::format("{} {}", key.first, key.second),
                          analysis::printable(options));
  }
  text += fmt::format(
      "\nTo add presets, write a file {} into the folder where you run fathom, or into one above it:\n\n  [record]\n  api = \"--unit api.service --sources cpu,wait -d 60\"\n  [report]\n  crates = \"--by crate --top 10\"\n\nThen: fathom record --preset api; fathom report --preset crates.\n",
      kPresetFile);
  return text;
}

}  // namespace fathom::cli
