#include "linux/process/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"

namespace fathom::process {

std::optional<std::string> read_beginning(const std::string& path, std::size_t most) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  while (text.size() < most) {
    constexpr std::size_t kPiece = 16 * 1024;
    const std::size_t size = text.size(), piece = std::min(kPiece, most - size);
    text.resize(size + piece);
    const ssize_t n = ::read(fd.get(), text.data() + size, piece);
    text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
  }
  return text;
}

bool has_setting(std::string_view environ, std::string_view setting) {
  while (!environ.empty()) {
    const std::string_view entry = environ.substr(0, environ.find('\0'));
    if (entry == setting) return true;
    environ.remove_prefix(std::min(environ.size(), entry.size() + 1));
  }
  return false;
}

bool Environment::has(std::string_view setting) {
  if (!text_) {
    text_ = read_beginning(fmt::format("/proc/{}/environ", pid_), kMostStartText).value_or("");
    // Of what is longer the last setting is cut, and a part of it may look like another one.
    if (text_->size() == kMostStartText) text_->resize(text_->rfind('\0') + 1);
  }
  return has_setting(*text_, setting);
}

}  // namespace fathom::process
