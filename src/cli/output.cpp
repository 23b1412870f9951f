#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "analysis/core/words.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/earlier_results.h"
#include "cli/option_groups.h"
#include "present/text/terminal_style.h"

namespace fathom::cli {

namespace {

Result<> write_standard_output(std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, content.data(), content.size());
    if (count >= 0)
      content.remove_prefix(static_cast<std::size_t>(count));
    else if (errno == EPIPE)
      return {};
    else if (errno != EINTR)
      return system_error("standard output", errno);
  }
  return {};
}

}  // namespace

void add_output_options(CLI::App& app, OutputPath& output, const std::string& description) {
  app.add_option("-o,--output", output.path, description)->type_name("FILE");
  app.add_flag("-f,--force", output.force,
               "-o may replace any regular file, not only earlier results of the same kind")
      ->group(kRareGroup);
}

bool is_standard_output(std::string_view path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

std::string text_for_terminal(std::string_view content) {
  std::string out;
  std::size_t plain = 0;  // from here on nothing was written yet
  const auto flush = [&](std::size_t end) {
    out += analysis::printable_lines(content.substr(plain, end - plain));
  };
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t kept = content[at] == '\t' ? 1 : present::style_length(content.substr(at));
    if (kept == 0) {
      ++at;
      continue;
    }
    flush(at);
    out += content.substr(at, kept);
    plain = at += kept;
  }
  flush(content.size());
  return out;
}

OutputStream::OutputStream(const OutputPath& output)
    : output_(output), to_file_(!output.path.empty() && !is_standard_output(output.path)) {
  // Only here, and not from the start: a launched command would inherit an ignored SIGPIPE.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before_);
}

OutputStream::~OutputStream() {
  ::sigaction(SIGPIPE, &before_, nullptr);
}

void OutputStream::add(std::string_view piece) {
  if (!result_) return;
  if (!to_file_) {
    result_ = ::isatty(STDOUT_FILENO) == 1 ? write_standard_output(text_for_terminal(piece))
                                           : write_standard_output(piece);
    return;
  }
  if (!file_) open(piece);
  if (result_) result_ = file_->write(piece);
}

void OutputStream::open(std::string_view first) {
  OutputOptions options;
  options.replaceable = earlier_result_of(first);
  options.force = output_.force;
  options.streams = true;
  auto file = OutputFile::open(output_.path, options);
  if (file)
    file_.emplace(std::move(*file));
  else
    result_ = tl::unexpected<Error>(file.error());
}

Result<> OutputStream::finish() {
  if (to_file_ && !file_ && result_) open({});
  if (!result_ || !to_file_) return result_;
  if (auto published = file_->publish(); !published) return published;
  if (file_->place() == OutputFile::Place::kThere) return {};
  return fail(ErrorKind::kSystem, output_.path + ": removed or replaced as soon as it was written");
}

Result<> write_output(std::string_view content, const OutputPath& output) {
  OutputStream stream(output);
  stream.add(content);
  return stream.finish();
}

Result<int> end_with_output(std::string_view content, const OutputPath& output) {
  if (auto written = write_output(content, output); !written) return tl::unexpected<Error>(written.error());
  return kDone;
}

std::size_t output_width() {
  constexpr std::size_t kLeast = 40;
  constexpr std::size_t kDefault = 100;
  std::size_t width = 0;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr)
    width = std::strtoul(columns, nullptr, 10);
  winsize size{};
  if (width == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0 || width > 10'000) return kDefault;
  return width < kLeast ? kLeast : width;
}

bool output_is_narrow() {
  const char* columns = std::getenv("COLUMNS");
  return (columns != nullptr && *columns != '\0') || ::isatty(STDOUT_FILENO) == 1;
}

void add_color_option(CLI::App& app, std::string& when) {
  app.add_option("--color", when, "colours, bold letters and links to source files: auto, always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(kRareGroup);
}

bool output_has_color(std::string_view when, const OutputPath& output) {
  if (when != "auto") return when == "always";
  if (!output.path.empty()) return false;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && term != nullptr && std::string_view(term) != "dumb" &&
         ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace fathom::cli
