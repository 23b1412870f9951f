#include "model/store/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"

namespace fathom::store {

// By a writer in another process. On file systems without locks (some network file systems) this is unknown
// and counts as false.
static bool is_locked(int fd) {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

Result<Input> Input::of_file(const std::string& path) {
  Input input;
  input.path_ = path;
  input.fd_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input.fd_) return system_error(path, errno);
  // Must come before reading the size: if a writer finishes in between, the reader sees its end mark.
  input.is_being_written_ = is_locked(input.fd_.get());
  struct stat status {};
  if (::fstat(input.fd_.get(), &status) != 0) return system_error(path, errno);
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kUnsupported, path + ": not a regular file");
  input.size_ = static_cast<std::uint64_t>(status.st_size);
  return input;
}

Input Input::of_bytes(std::span<const std::byte> bytes) {
  Input input;
  input.size_ = bytes.size();
  input.in_memory_ = bytes;
  return input;
}

// Reads as many bytes as there are: the file may have been truncated since it was opened.
Result<std::size_t> Input::read_file(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got =
        ::pread(fd_.get(), out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path_, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

Result<> Input::copy(std::uint64_t offset, std::size_t n, Bytes& out) const {
  n = static_cast<std::size_t>(std::min<std::uint64_t>(n, size_ - std::min(offset, size_)));
  out.resize(n);
  if (!fd_) {
    std::copy_n(in_memory_.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
    return {};
  }
  const auto filled = read_file(offset, out);
  if (!filled) return tl::make_unexpected(filled.error());
  out.resize(*filled);
  return {};
}

Result<std::span<const std::byte>> Input::at(std::uint64_t offset, std::size_t n) {
  n = static_cast<std::size_t>(std::min<std::uint64_t>(n, size_ - std::min(offset, size_)));
  if (n == 0) return std::span<const std::byte>();
  const bool there =
      offset >= start_ && offset - start_ <= in_memory_.size() && in_memory_.size() - (offset - start_) >= n;
  if (!there) {
    // A reader that skips something (large blocks it does not need) may skip again: read little ahead then.
    constexpr std::size_t kPart = 1 << 20, kAfterJump = 1 << 12;
    const bool jump = offset > start_ + in_memory_.size();
    const std::size_t part = std::max(n, jump ? kAfterJump : kPart);
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(part, size_ - offset)));
    const auto filled = read_file(offset, buffer_);
    if (!filled) return tl::make_unexpected(filled.error());
    start_ = offset;
    in_memory_ = std::span<const std::byte>(buffer_).first(*filled);
  }
  const auto from = static_cast<std::size_t>(offset - start_);
  return in_memory_.subspan(from, std::min(n, in_memory_.size() - from));
}

}  // namespace fathom::store
