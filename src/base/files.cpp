#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/fd.h"

namespace fathom {

tl::unexpected<Error> system_error(std::string_view where, int error_number) {
  auto kind = ErrorKind::kSystem;
  if (error_number == EPERM || error_number == EACCES) kind = ErrorKind::kPermission;
  if (error_number == ENOENT || error_number == ESRCH) kind = ErrorKind::kNotFound;
  return fail(kind, std::string(where) + ": " + std::strerror(error_number));
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  std::string content;
  std::vector<char> buffer(64 * 1024);
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
  const std::string temporary = path + ".new-" + std::to_string(::getpid());
  {
    Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd) return system_error(path, errno);
    while (!content.empty()) {
      const ssize_t n = ::write(fd.get(), content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const int error_number = errno;
        ::unlink(temporary.c_str());
        return system_error(path, error_number);
      }
      content.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    ::unlink(temporary.c_str());
    return system_error(path, error_number);
  }
  return {};
}

Result<> make_directories(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (!part.empty() && ::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return system_error(part, errno);
    if (slash == std::string::npos) return {};
  }
}

}  // namespace fathom
