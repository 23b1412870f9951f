#include "base/files.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/output_file.h"

namespace fathom {

namespace {

// What a user can do about a limit that is reached, or a path that leads nowhere. Empty: nothing that is known here.
std::string_view remedy_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "another file system (df -h lists those with free space)";
    case EDQUOT:
      return "another file system, or quota, which prints the limit of this user";
    case EFBIG:
      return "a higher limit of file sizes: ulimit -f unlimited";
    case EROFS:
      return "a file in a folder that is not mounted read-only";
    case EMFILE:
      return "a higher limit of open files: ulimit -n 4096";
    case ELOOP:
      return "the file itself: this link leads back to itself";
    case ENXIO:
      return "another file: this is a socket, or a device that is not there";
    case ENAMETOOLONG:
      return "a shorter name";
    case ENOTDIR:
      return "another path: a part of this one is a file and no folder";
    case EISDIR:
      return "a file in this folder";
    case EBADF:
      return "an open descriptor: the shell closed it (<&- or >&-)";
    default:
      return "";
  }
}

}  // namespace

tl::unexpected<Error> system_error(std::string_view where, int error_number) {
  auto kind = ErrorKind::kSystem;
  if (error_number == EPERM || error_number == EACCES) kind = ErrorKind::kPermission;
  if (error_number == ENOENT || error_number == ESRCH) kind = ErrorKind::kNotFound;
  return fail(kind, std::string(where) + ": " + std::strerror(error_number),
              std::string(remedy_of(error_number)));
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  return read_file(fd, path, limit);
}

Result<std::string> read_file(const Fd& fd, const std::string& path, std::size_t limit) {
  std::string content;
  std::array<char, 16 * 1024>
      buffer;  // more than /proc gives at once, and no allocation for each of its small files
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, errno);
    if (n == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(n));
    if (content.size() > limit)
      return fail(ErrorKind::kUnsupported, path + ": longer than " + std::to_string(limit) + " bytes");
  }
}

Result<> write_file(const std::string& path, std::string_view content) {
  auto file = OutputFile::open(path, {.force = true});
  if (!file) return tl::unexpected<Error>(file.error());
  if (auto written = file->write(content); !written) return written;
  return file->publish();
}

}  // namespace fathom
