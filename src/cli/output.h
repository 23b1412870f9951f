// Where a command's result goes, and how wide and colourful it may be.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

// What -o and --force say.
struct OutputPath {
  std::string path;
  bool force = false;
};
void add_output_options(CLI::App& app, OutputPath& output, const std::string& description);

// To standard output when the path is "", "-" or another name of it (/dev/stdout), else as base/output_file.h
// says. An existing file is replaced when it is empty or an earlier result of the same kind
// (earlier_results.h); a report as text has no kind, and needs --force. Pipes and devices are written into. A reader that has seen enough ("| head") is no error.
Result<> write_output(std::string_view content, const OutputPath& output);

// What of a result a terminal gets: text, line ends, tabs and colours. JSON and exports hold names as they are in the files of
// the target, and such a name is a command to the terminal if it likes. Files and pipes get every byte.
std::string text_for_terminal(std::string_view content);

// "-" and its other names.
bool is_standard_output(std::string_view path);

// Columns of standard output: COLUMNS, else the terminal's, else 100.
std::size_t output_width();
// False if the output width is unknown: names stay whole in a pipe or a file.
bool output_is_narrow();
// Standard output is a terminal that shows colours, and NO_COLOR is not set (no-color.org).
bool output_has_color();

}  // namespace fathom::cli
