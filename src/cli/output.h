// Where a command's result goes, and how wide and colourful it may be.
#pragma once

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "base/result.h"

namespace fathom::cli {

// What -o and --force say.
struct OutputPath {
  std::string path;
  bool force = false;
};
void add_output_options(CLI::App& app, OutputPath& output, const std::string& description);

// Whether text has colours, bold letters and links (present/text/terminal_style.h): "auto", "always" or "never".
void add_color_option(CLI::App& app, std::string& when);

// To standard output when the path is "", "-" or another name of it (/dev/stdout), else as base/output_file.h
// says. An existing file is replaced when it is empty or an earlier result of the same kind
// (earlier_results.h); a report as text has no kind, and needs --force. Pipes and devices are written into. A reader that has seen enough ("| head") is no error.
Result<> write_output(std::string_view content, const OutputPath& output);
// The same as the last step of a command: kDone, or the error.
Result<int> end_with_output(std::string_view content, const OutputPath& output);

// The same of a result that comes in pieces, the first of which is enough to tell its kind; for a terminal each ends with a line.
// A file appears when it is finished, and not before.
class OutputStream {
 public:
  explicit OutputStream(const OutputPath& output);
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;
  ~OutputStream();
  void add(std::string_view piece);  // an error is what finish() returns; the rest is dropped
  Result<> finish();                 // once

 private:
  void open(std::string_view first);

  OutputPath output_;
  bool to_file_;
  struct sigaction before_ {};  // of SIGPIPE
  std::optional<OutputFile> file_;
  Result<> result_;
};

// What of a result a terminal gets: text, line ends, tabs and colours. JSON and exports hold names as they are in the files of
// the target, and such a name is a command to the terminal if it likes. Files and pipes get every byte.
std::string text_for_terminal(std::string_view content);

// "-" and its other names.
bool is_standard_output(std::string_view path);

// Columns of standard output: COLUMNS, else the terminal's, else 100.
std::size_t output_width();
// False if the output width is unknown: names stay whole in a pipe or a file.
bool output_is_narrow();
// "auto": `output` is standard output, which is a terminal that shows colours, and NO_COLOR is not set (no-color.org).
bool output_has_color(std::string_view when = "auto", const OutputPath& output = {});

}  // namespace fathom::cli
