// What --help, the manual pages and the completions of a shell say about a command: one table, read from the options as
// they are declared, so that the three cannot differ.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace fathom::cli {

// The headings under which the help of the program lists its commands: the most used ones first, and the rest by name alone.
inline constexpr const char* kLiveGroup = "Record and watch";
inline constexpr const char* kReadGroup = "Read a recording";
inline constexpr const char* kMoreGroup = "More";

struct OptionRow {
  std::vector<std::string> names;      // "-F", "--freq"; of a positional argument: what it is called, "FILE"
  std::string value;                   // "N", "FILE", "auto|bpf|perf"; empty: takes none
  bool value_may_be_left_out = false;  // then the value follows "=": --heap=exact
  bool repeats = false;
  std::vector<std::string> choices;  // every value there is, where they are few
  std::string initial;               // the default; empty: none to print
  std::string text;
  bool positional = false;
};

struct OptionGroup {
  std::string title;
  std::vector<OptionRow> rows;
};

// In the order of their declaration, positional arguments first; hidden options are left out.
std::vector<OptionGroup> options_of(const CLI::App& command);

// "-F, --freq N", "--heap[=sampled|exact]".
std::string names_and_value(const OptionRow& row);
// The text, with the default.
std::string description(const OptionRow& row);

// How --help looks: a column of names and one of texts, wrapped at `width` columns. For all commands of `app`, which are
// declared afterwards.
void use_help_format(CLI::App& app, std::size_t width);

// An option with one value that may be repeated ends with that value: in "--focus main x.fathom" the file is no second pattern.
void end_options_with_their_value(CLI::App& command);

}  // namespace fathom::cli
