#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/files.h"

namespace fathom::cli {

Result<> write_output(std::string_view content, const std::string& path) {
  if (!path.empty() && path != "-") return write_file(path, content);
  // Only here, and not from the start: a launched command would inherit an ignored SIGPIPE.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  Result<> result;
  while (!content.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, content.data(), content.size());
    if (count >= 0) {
      content.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      if (errno != EPIPE) result = system_error("standard output", errno);
      break;
    }
  }
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

bool output_has_color() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && term != nullptr && std::string_view(term) != "dumb" &&
         ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace fathom::cli
