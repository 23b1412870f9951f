#include "cli/wrong_usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/core/words.h"
#include "base/parse.h"
#include "base/word_distance.h"
#include "cli/examples.h"
#include "cli/idioms.h"
#include "cli/option_table.h"

namespace fathom::cli {
namespace {

constexpr std::size_t kLongestShown = 32;
// A number beyond it is CLI11's for "any".
constexpr double kNoLimit = 1e300;

std::string shown(std::string_view typed) {
  return analysis::printable(std::string(typed.substr(0, kLongestShown)));
}

// The text between two others. Nothing: they do not stand there.
std::optional<std::string> between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t start = text.find(before);
  if (start == text.npos) return std::nullopt;
  text.remove_prefix(start + before.size());
  const std::size_t end = after.empty() ? text.size() : text.rfind(after);
  if (end == text.npos) return std::nullopt;
  return std::string(text.substr(0, end));
}

// "a number from 1 to 100000", "a time above 0, such as 30, 500ms or 10m".
std::string range_text(double low, double high, const std::string& type) {
  const bool positive = type.find("POSITIVE") != std::string::npos;
  if (type.starts_with("TIME"))
    return fmt::format("a time {}, such as 30, 500ms or 10m", positive ? "above 0" : "of 0 or more");
  if (positive) return "a number above 0";
  return high < kNoLimit ? fmt::format("a number from {} to {}", low, high)
                         : fmt::format("a number of {} or more", low);
}

// "TIME:POSITIVE": its value and its checks, as the help shows them. CLI11 writes the least double above 0 as 0.000000.
std::string type_of(const CLI::App* command, const std::string& option) {
  const CLI::Option* found = command == nullptr ? nullptr : command->get_option_no_throw(option);
  return found == nullptr ? "" : found->get_type_name();
}

// "--duration: Value abc not in range 0.000000 to 1797.000000", of newer versions "[0 - 1797]"; "--pid = abc".
std::string refused_value(std::string_view text, const CLI::App* command) {
  const std::string name(text.substr(0, text.find(':')));
  if (const auto value = between(text, ": Value ", " not in range ")) {
    if (value->empty()) return name + " is empty";
    std::string limits = between(text, " not in range ", "").value_or("");
    std::erase_if(limits, [](char c) { return c == '[' || c == ']'; });
    const std::string_view apart = limits.find(" to ") != limits.npos ? " to " : " - ";
    const std::size_t to = limits.find(apart);
    const auto low = parse_number<double>(limits.substr(0, to));
    const auto high = parse_number<double>(to == limits.npos ? "" : limits.substr(to + apart.size()));
    if (low && high)
      return fmt::format("{} '{}': expected {}", name, shown(*value),
                         range_text(*low, *high, type_of(command, name)));
  }
  if (const auto option = between(text, "Could not convert: ", " = "))
    return fmt::format("{} '{}': expected a number", *option, shown(*between(text, " = ", "")));
  if (const auto folder = between(text, ": Directory does not exist: ", ""))
    return fmt::format("{}: there is no folder {}", name, analysis::printable(*folder));
  if (const auto choices = between(text, " not in {", "}")) {
    const std::string value = between(text, ": ", " not in {").value_or("");
    std::string words;
    for (const char c : *choices) words += c == ',' ? std::string(", ") : std::string(1, c);
    return fmt::format("{} '{}': it is one of {}", name, shown(value), words);
  }
  if (text.find(" required ") != text.npos && text.ends_with(" missing")) return name + " wants a value";
  return std::string(text);
}

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const OptionGroup& group : options_of(command))
    for (const OptionRow& row : group.rows)
      for (const std::string& name : row.names)
        if (name.starts_with("--")) names.push_back(name);
  return names;
}

// Of words that no option and no argument took.
Error not_expected(const CLI::App& command) {
  const std::string called = command.get_name(), help = fmt::format("fathom {} --help", called);
  std::vector<std::string> left = command.remaining();
  std::erase(left, "--");
  const auto option =
      std::ranges::find_if(left, [](const std::string& word) { return word.starts_with("-"); });
  if (option != left.end()) {
    const std::string name = option->substr(0, option->find('='));
    const std::string meant = name.starts_with("--") ? nearest_word(name, long_options(command)) : "";
    return {ErrorKind::kUsage, fmt::format("{} has no option {}", called, shown(name)),
            meant.empty() ? help : fmt::format("fathom {} {}", called, meant)};
  }
  return {ErrorKind::kUsage,
          left.empty() ? called + " takes no more arguments"
                       : fmt::format("{}: '{}' is one argument too many", called, shown(left.front())),
          help};
}

// "out is required", where the help says OUT.
Error left_out(const CLI::ParseError& error, const CLI::App& command) {
  std::string name = between(error.what(), "", " is required").value_or("an argument");
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option != nullptr && option->get_positional()) {
    std::string type = option->get_type_name();
    type.resize(std::min(type.find(':'), type.size()));
    if (type != "TEXT") name = type;
  }
  const auto examples = examples_of(command.get_name());
  return {ErrorKind::kUsage, fmt::format("{} needs {}", command.get_name(), name),
          examples.empty() ? fmt::format("fathom {} --help", command.get_name())
                           : std::string(examples.front().line)};
}

}  // namespace

std::string nearest_word(std::string_view typed, const std::vector<std::string>& words) {
  typed = typed.substr(0, kLongestShown);
  const std::string* nearest = nullptr;
  // Of a short word nearly every letter would be another.
  std::size_t least = typed.size() > 2 && typed.starts_with("--") && typed.size() < 7 ? 2 : 3;
  for (const std::string& word : words) {
    const std::size_t letters = word_distance(typed, word);
    if (letters >= least) continue;
    least = letters;
    nearest = &word;
  }
  if (nearest != nullptr) return *nearest;
  const auto begun = [&](const std::string& word) { return word.starts_with(typed); };
  if (std::ranges::count_if(words, begun) != 1) return "";
  return *std::ranges::find_if(words, begun);
}

Error no_such_command(std::string_view word, const std::vector<std::string>& commands) {
  const std::string meant = nearest_word(word, commands);
  if (const std::string_view line = line_for_foreign_command(word); !line.empty())
    return {ErrorKind::kUsage, fmt::format("there is no command '{}'", shown(word)),
            fmt::format("{}; fathom help idioms lists more", line)};
  return {ErrorKind::kUsage, fmt::format("there is no command '{}'", shown(word)),
          meant.empty() ? "fathom --help, which lists them" : "fathom " + meant};
}

std::optional<Error> empty_value(const CLI::App& command, const std::vector<std::string>& words) {
  const auto end = std::ranges::find(words, "--");
  const bool any = std::any_of(words.begin(), end, [](const std::string& word) {
    return word.empty() || (word.starts_with("--") && word.ends_with('='));
  });
  if (!any) return std::nullopt;
  for (const CLI::Option* option : command.get_options()) {
    std::string type = option->get_type_name();
    type.resize(std::min(type.find(':'), type.size()));  // without CLI11's words for its checks
    if (option->count() == 0 || type.empty() || type == "TEXT" || type == "COMMAND") continue;
    if (std::ranges::find(option->results(), std::string()) == option->results().end()) continue;
    const std::string name = option->get_positional() ? type : option->get_name();
    return Error{ErrorKind::kUsage, fmt::format("{}: {} is empty", command.get_name(), name),
                 "a value, or leave it out (an unset variable of a script looks like this)"};
  }
  return std::nullopt;
}

std::string usual_remedy(ErrorKind kind, std::string_view command) {
  switch (kind) {
    case ErrorKind::kUsage:
      return command.empty() ? "fathom --help" : fmt::format("fathom {} --help", command);
    case ErrorKind::kNotFound:
      return "another name; fathom list shows the recordings here, and ps -e the processes";
    case ErrorKind::kPermission:
      return "as the owner, or as root";
    case ErrorKind::kMalformed:
      return "another copy of the file, or write it again with the tool that made it";
    case ErrorKind::kUnsupported:
    case ErrorKind::kSystem:
      break;
  }
  return "";
}

Error wrong_usage(const CLI::ParseError& error, const CLI::App* command) {
  if (command == nullptr) return {ErrorKind::kUsage, refused_value(error.what(), command), "fathom --help"};
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return not_expected(*command);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return left_out(error, *command);
  return {ErrorKind::kUsage, command->get_name() + ": " + refused_value(error.what(), command),
          fmt::format("fathom {} --help", command->get_name())};
}

}  // namespace fathom::cli
