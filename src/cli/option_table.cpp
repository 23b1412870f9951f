#include "cli/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "cli/examples.h"
#include "cli/option_groups.h"

namespace fathom::cli {
namespace {

constexpr std::size_t kTextColumn = 30;
constexpr std::string_view kUngrouped = "Options";  // what CLI11 calls the group of an option that names none

// Accepted, and shown nowhere: options that have another name today.
constexpr std::array<std::string_view, 4> kOldSpellings{"events", "no-probe", "metrics", "metrics-anywhere"};

// CLI11 appends what a value must be to its type: "TEXT:{auto,bpf,perf}", "UINT:INT in [1 - 100000]".
std::vector<std::string> choices_in(std::string_view type) {
  const std::size_t open = type.find('{'), close = type.find('}', open == type.npos ? 0 : open);
  if (open == type.npos || close == type.npos) return {};
  std::vector<std::string> choices;
  for (std::string_view rest = type.substr(open + 1, close - open - 1); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    choices.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return choices;
}

std::string value_word(std::string_view type) {
  const std::string_view base = type.substr(0, type.find(':'));
  if (type.find("DIR") != type.npos) return "FOLDER";
  if (base == "INT" || base == "UINT" || base == "FLOAT") return "N";
  return std::string(base);
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : std::string(between)) + word;
  return all;
}

OptionRow row_of(const CLI::Option& option) {
  OptionRow row;
  const std::string type = option.get_type_name();
  row.text = option.get_description();
  row.initial = option.get_default_str();
  row.choices = choices_in(type);
  row.repeats = option.get_items_expected_max() > 1;
  if (!option.nonpositional()) {
    row.positional = true;
    const std::string word = value_word(type);
    row.names = {type.empty() || word == "TEXT" ? option.get_name(true) : word};
    return row;
  }
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    if (std::ranges::find(kOldSpellings, name) == kOldSpellings.end()) row.names.push_back("--" + name);
  if (!row.choices.empty())
    row.value = joined(row.choices, "|");
  else if (option.get_items_expected_max() != 0)
    row.value = value_word(type);
  row.value_may_be_left_out = !row.value.empty() && option.get_items_expected_min() == 0;
  return row;
}

// Words are never cut; a line break stays one.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (column != indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column != indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    if (end < text.size() && text[end] == '\n') {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    at = end + 1;
  }
  return out;
}

bool is_rare(const std::string& title) {
  return title == kRareGroup || title == kBlocksGroup || title == kHabitsGroup;
}

// `fathom record`: what the user types.
std::string typed_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : app.get_parent()->get_name() + " " + app.get_name();
}

// What --help prints: examples first, then the options by group. --help-all adds the rare ones and the notes.
class HelpFormat : public CLI::Formatter {
 public:
  explicit HelpFormat(std::size_t width) : width_(std::max<std::size_t>(width, 60)) {}

  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const override {
    const bool everything = mode == CLI::AppFormatMode::All;
    const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
    const std::string name = typed_name(*app);
    std::string text = wrapped(app->get_description(), 0, width_) + "\nUsage: " + name +
                       (commands.empty() ? " [OPTIONS]" : " COMMAND [OPTIONS]");
    for (const OptionGroup& group : options_of(*app))
      for (const OptionRow& row : group.rows)
        if (row.positional) text += " [" + names_and_value(row) + "]";
    text += "\n\n";
    const auto examples = examples_of(app->get_parent() == nullptr ? "" : app->get_name());
    std::size_t column = 0;
    for (const Example& example : examples) column = std::max(column, example.line.size());
    for (const Example& example : examples)
      text += fmt::format("  {:<{}}  # {}\n", example.line, column, example.meaning);
    text += list_of_commands(commands, everything);
    if (!commands.empty() && !everything)
      return text + "\n" +
             wrapped(
                 fmt::format(
                     "{0} COMMAND --help lists the options of a command; {0} --help-all every command, the exit statuses and --version.",
                     name),
                 0, width_) +
             "\n";
    std::size_t left_out = 0;
    for (const bool rare : {false, true})
      for (const OptionGroup& group : options_of(*app)) {
        if (is_rare(group.title) != rare) continue;
        if (rare && !everything) {
          left_out += group.rows.size();
          continue;
        }
        text += "\n" + group.title + ":\n";
        for (const OptionRow& option : group.rows) text += row(names_and_value(option), description(option));
      }
    if (everything)
      if (const std::string notes = app->get_footer(); !notes.empty())
        text += "\n" + wrapped(notes, 0, width_) + "\n";
    if (left_out > 0) text += fmt::format("\n{} --help-all lists {} more options.\n", name, left_out);
    return text;
  }

 private:
  // By group. Those of the last group are names alone, unless everything is asked for.
  std::string list_of_commands(const std::vector<const CLI::App*>& commands, bool everything) const {
    std::vector<std::string> groups;
    std::size_t column = 0;
    for (const CLI::App* command : commands) {
      column = std::max(column, command->get_name().size() + 4);
      const std::string& group = command->get_group();
      if (group != kMoreGroup && std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
    }
    groups.push_back(kMoreGroup);
    std::string text;
    for (const std::string& group : groups) {
      std::vector<std::string> names;
      std::string rows;
      for (const CLI::App* command : commands) {
        if (command->get_group() != group) continue;
        names.push_back(command->get_name());
        rows += row(command->get_name(), command->get_description(), column);
      }
      if (names.empty()) continue;
      text += "\n" + group + ":";
      text += group == kMoreGroup && !everything ? " " + wrapped(joined(names, ", "), 6, width_) + "\n"
                                                 : "\n" + rows;
    }
    return text;
  }

  std::string row(const std::string& names, const std::string& text, std::size_t column = kTextColumn) const {
    std::string line = "  " + names;
    if (line.size() + 1 > column)
      line += "\n" + std::string(column, ' ');
    else
      line.resize(column, ' ');
    return line + wrapped(text, column, width_) + "\n";
  }

  std::size_t width_;
};

}  // namespace

std::vector<OptionGroup> options_of(const CLI::App& command) {
  std::vector<OptionGroup> groups;
  const auto add = [&](const std::string& title, const CLI::Option& option) {
    auto group = std::ranges::find(groups, title, &OptionGroup::title);
    if (group == groups.end()) group = groups.insert(groups.end(), {title, {}});
    group->rows.push_back(row_of(option));
  };
  const auto options = command.get_options();
  for (const CLI::Option* option : options)
    if (!option->nonpositional() && !option->get_group().empty())
      add(option->get_group() == kUngrouped ? "Arguments" : option->get_group(), *option);
  for (const CLI::Option* option : options)
    if (option->nonpositional() && !option->get_group().empty()) add(option->get_group(), *option);
  return groups;
}

std::string names_and_value(const OptionRow& row) {
  std::string text = joined(row.names, ", ");
  if (row.positional) return text + (row.repeats ? " ..." : "");
  if (row.value.empty()) return text;
  return row.value_may_be_left_out ? fmt::format("{}[={}]", text, row.value) : text + " " + row.value;
}

std::string description(const OptionRow& row) {
  return row.initial.empty() || row.initial == "\"\""
             ? row.text
             : fmt::format("{} (default: {})", row.text, row.initial);
}

void end_options_with_their_value(CLI::App& command) {
  for (CLI::Option* option : command.get_options())
    if (option->nonpositional() && option->get_expected_max() == 1) option->allow_extra_args(false);
}

void use_help_format(CLI::App& app, std::size_t width) {
  app.formatter(std::make_shared<HelpFormat>(width));
}

}  // namespace fathom::cli
