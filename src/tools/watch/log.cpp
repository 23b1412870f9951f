#include "tools/watch/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/files.h"

namespace fathom::watch {

Result<Log> Log::open(std::string path, std::string head, LogBounds bounds) {
  const std::size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "" : path.substr(0, std::max<std::size_t>(slash, 1));
  const auto owner = sudo_user();
  auto safe = SafeFolder::open(folder, {.owner = owner, .make = false});
  if (!safe) return tl::unexpected<Error>(safe.error());
  Log log(std::move(*safe));
  log.name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  log.path_ = std::move(path);
  log.head_ = std::move(head);
  log.bounds_ = bounds;
  log.owner_ = owner;
  if (auto begun = log.begin_file(); !begun) return tl::unexpected<Error>(begun.error());
  return log;
}

Result<> Log::begin_file() {
  if (name_.empty() || name_ == "." || name_ == "..")
    return fail(ErrorKind::kSystem, path_ + ": is a folder");
  // Does not wait for a reader of a pipe of that name.
  fd_ = Fd(::openat(folder_.fd().get(), name_.c_str(),
                    O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!fd_ && errno == ELOOP)
    return fail(ErrorKind::kSystem, path_ + ": is a link, and a log does not follow it");
  if (!fd_) return system_error(path_, errno);
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return system_error(path_, errno);
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kSystem, path_ + ": is not a file");
  if (status.st_nlink > 1)
    return fail(ErrorKind::kSystem,
                path_ + ": has another name as well (a hard link), and is not written to");
  if (status.st_uid != ::geteuid() && !(owner_ && status.st_uid == owner_->uid))
    return fail(ErrorKind::kPermission, path_ + ": belongs to another user, so fathom does not write to it");
  // Two that rename it in turn would throw away what the other one wrote.
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorKind::kSystem, path_ + ": another fathom watch writes to it");
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ == 0) {
    // With sudo it belongs to the user who asked.
    if (owner_ && ::geteuid() == 0 && ::fchown(fd_.get(), owner_->uid, owner_->gid) != 0)
      return system_error(path_, errno);
    if (!head_.empty()) return write(head_ + "\n");
    return {};
  }
  return go_on();
}

// What another run left: other columns are another table, and a line that broke off is ended.
Result<> Log::go_on() {
  std::string first(head_.size() + 1, '\0');
  char last = '\n';
  if (::pread(fd_.get(), &last, 1, static_cast<off_t>(size_ - 1)) != 1) return system_error(path_, errno);
  if (!head_.empty() &&
      (::pread(fd_.get(), first.data(), first.size(), 0) != static_cast<ssize_t>(first.size()) ||
       first != head_ + "\n"))
    return rotate();
  if (last != '\n') return write("\n");
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
  const int folder = folder_.fd().get();
  for (int number = bounds_.files; number > 0; --number) {
    const std::string from = number == 1 ? name_ : fmt::format("{}.{}", name_, number - 1);
    if (::renameat(folder, from.c_str(), folder, fmt::format("{}.{}", name_, number).c_str()) != 0 &&
        errno != ENOENT)
      return system_error(path_, errno);
  }
  if (bounds_.files == 0 && ::unlinkat(folder, name_.c_str(), 0) != 0 && errno != ENOENT)
    return system_error(path_, errno);
  return begin_file();
}

Result<> Log::add(std::string_view line) {
  struct stat status {};
  if (::fstat(fd_.get(), &status) == 0 && status.st_nlink == 0)  // another process removed it
    if (auto begun = begin_file(); !begun) return begun;
  if (size_ > head_.size() + 1 && size_ + line.size() + 1 > bounds_.bytes)
    if (auto rotated = rotate(); !rotated) return rotated;
  return write(std::string(line) + "\n");
}

}  // namespace fathom::watch
