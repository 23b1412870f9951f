#include "cli/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace fathom::cli {
namespace {

constexpr std::size_t kTextColumn = 30;

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
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (!row.choices.empty())
    row.value = joined(row.choices, "|");
  else if (option.get_items_expected_max() != 0)
    row.value = value_word(type);
  row.value_may_be_left_out = !row.value.empty() && option.get_items_expected_min() == 0;
  return row;
}

// Words are never cut.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
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
    at = end + 1;
  }
  return out;
}

class HelpFormat : public CLI::Formatter {
 public:
  explicit HelpFormat(std::size_t width) : width_(std::max<std::size_t>(width, 60)) {}

  std::string make_option(const CLI::Option* option, bool) const override {
    const OptionRow row = row_of(*option);
    std::string line = "  " + names_and_value(row);
    if (line.size() + 1 > kTextColumn)
      line += "\n" + std::string(kTextColumn, ' ');
    else
      line.resize(kTextColumn, ' ');
    return line + wrapped(description(row), kTextColumn, width_) + "\n";
  }

 private:
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
    if (!option->nonpositional() && !option->get_group().empty()) add("Arguments", *option);
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

void use_help_format(CLI::App& app, std::size_t width) {
  app.formatter(std::make_shared<HelpFormat>(width));
}

}  // namespace fathom::cli
