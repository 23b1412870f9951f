#include "watch/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/files.h"

namespace fathom::watch {

Result<Log> Log::open(std::string path, std::string head, LogBounds bounds) {
  Log log;
  log.path_ = std::move(path);
  log.head_ = std::move(head);
  log.bounds_ = bounds;
  if (auto begun = log.begin_file(); !begun) return tl::unexpected<Error>(begun.error());
  return log;
}

Result<> Log::begin_file() {
  // Without waiting for whoever reads from a pipe of that name.
  fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!fd_ && errno == ELOOP)
    return fail(ErrorKind::kSystem, path_ + ": is a link, and a log does not follow it");
  if (!fd_) return system_error(path_, errno);
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return system_error(path_, errno);
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kSystem, path_ + ": is no file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ == 0 && !head_.empty()) return write(head_ + "\n");
  return {};
}

Result<> Log::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(path_, errno);
    size_ += static_cast<std::uint64_t>(written);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<> Log::rotate() {
  for (int number = bounds_.files; number > 0; --number) {
    const std::string from = number == 1 ? path_ : fmt::format("{}.{}", path_, number - 1);
    if (::rename(from.c_str(), fmt::format("{}.{}", path_, number).c_str()) != 0 && errno != ENOENT)
      return system_error(path_, errno);
  }
  if (bounds_.files == 0 && ::unlink(path_.c_str()) != 0 && errno != ENOENT)
    return system_error(path_, errno);
  return begin_file();
}

Result<> Log::add(std::string_view line) {
  if (size_ > head_.size() + 1 && size_ + line.size() + 1 > bounds_.bytes)
    if (auto rotated = rotate(); !rotated) return rotated;
  return write(std::string(line) + "\n");
}

}  // namespace fathom::watch
