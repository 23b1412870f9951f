#include "tools/serve/log_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "analysis/core/words.h"

namespace fathom::serve {
namespace {

// The library's matcher recurses for each character, and a log may hold anything.
constexpr std::size_t kMostMatched = 2000, kMostShown = 200;
constexpr std::size_t kMostAtOnce = std::size_t{4} << 20;

}  // namespace

Result<LogWatch> LogWatch::open(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon == 0 || colon + 1 == text.size())
    return fail(ErrorKind::kUsage, fmt::format("'{}' is not a FILE:REGEX", analysis::printable(text)),
                "'/var/log/app.log:ERROR.*timeout'");
  try {
    LogWatch watch(
        std::string(text.substr(0, colon)),
        std::regex(std::string(text.substr(colon + 1)), std::regex::ECMAScript | std::regex::optimize));
    watch.follow();
    watch.begun_ = true;
    return watch;
  } catch (const std::regex_error&) {
    return fail(ErrorKind::kUsage,
                fmt::format("'{}' is not a regular expression", analysis::printable(text.substr(colon + 1))),
                "'ERROR.*timeout'");
  }
}

// The file that has the name now, from its beginning, unless it was there when the watch began.
void LogWatch::follow() {
  struct stat named {};
  if (::stat(path_.c_str(), &named) != 0 || !S_ISREG(named.st_mode)) return;
  if (fd_ && named.st_dev == device_ && named.st_ino == inode_) {
    if (named.st_size < offset_) offset_ = 0, line_.clear();
    return;
  }
  Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return;
  fd_ = std::move(fd);
  device_ = named.st_dev;
  inode_ = named.st_ino;
  offset_ = begun_ ? 0 : named.st_size;
  line_.clear();
}

std::optional<std::string> LogWatch::problem() const {
  if (fd_) return std::nullopt;
  struct stat named {};
  const bool is_other = ::stat(path_.c_str(), &named) == 0 && !S_ISREG(named.st_mode);
  const Fd fd(is_other ? -1 : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const int error = errno;
  if (fd) return std::nullopt;
  return fmt::format("cannot read {} yet: {}; try: a file that exists and is readable",
                     analysis::printable(path_), is_other ? "not a regular file" : std::strerror(error));
}

std::optional<std::string> LogWatch::take() {
  std::optional<std::string> found;
  const auto look = [&] {
    if (!found && std::regex_search(line_, pattern_))
      found = analysis::printable(line_.substr(0, kMostShown));
    line_.clear();
  };
  const auto read_on = [&] {
    std::array<char, 65536> buffer;
    for (std::size_t taken = 0; fd_ && taken < kMostAtOnce;) {
      const ssize_t got = ::pread(fd_.get(), buffer.data(), buffer.size(), offset_);
      if (got <= 0) return;
      offset_ += got;
      taken += static_cast<std::size_t>(got);
      for (const char letter : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
        if (letter == '\n')
          look();
        else if (line_.size() < kMostMatched)
          line_ += letter;
      }
    }
  };
  read_on();  // of the file that was renamed, what came before that
  follow();
  read_on();
  return found;
}

}  // namespace fathom::serve
