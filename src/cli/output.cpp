#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "analysis/core/words.h"
#include "base/files.h"
#include "base/output_file.h"
#include "cli/earlier_results.h"

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

// The length of a colour, "ESC [ 38;5;12 m", at the start of `text`; 0: there is none.
std::size_t color_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

Result<> write_to_file(std::string_view content, const OutputPath& output) {
  OutputOptions options;
  options.replaceable = earlier_result_of(content);
  options.force = output.force;
  options.streams = true;
  auto file = OutputFile::open(output.path, options);
  if (!file) return tl::unexpected<Error>(file.error());
  if (auto written = file->write(content); !written) return written;
  if (auto published = file->publish(); !published) return published;
  if (file->place() == OutputFile::Place::kThere) return {};
  return fail(ErrorKind::kSystem, output.path + ": removed or replaced as soon as it was written");
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
    const std::size_t kept = content[at] == '\t' ? 1 : color_length(content.substr(at));
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

Result<> write_output(std::string_view content, const OutputPath& output) {
  // Only here, and not from the start: a launched command would inherit an ignored SIGPIPE.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  const bool to_standard_output = output.path.empty() || is_standard_output(output.path);
  Result<> result = !to_standard_output            ? write_to_file(content, output)
                    : ::isatty(STDOUT_FILENO) == 1 ? write_standard_output(text_for_terminal(content))
                                                   : write_standard_output(content);
  ::sigaction(SIGPIPE, &before, nullptr);
  return result;
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

bool output_has_color() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && term != nullptr && std::string_view(term) != "dumb" &&
         ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace fathom::cli
