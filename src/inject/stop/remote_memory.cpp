#include "inject/stop/remote_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

namespace fathom::inject {

Result<RemoteMemory> RemoteMemory::open(int pid) {
  const std::string path = fmt::format("/proc/{}/mem", pid);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) {
    Error error = system_error(path, errno).value();
    if (error.kind == ErrorKind::kPermission)
      error.remedy =
          "run as root or with CAP_SYS_PTRACE (as root only, where the program has capabilities that you "
          "lack); for own processes, kernel.yama.ptrace_scope = 0 will do";
    return tl::unexpected<Error>(std::move(error));
  }
  return RemoteMemory(pid, std::move(fd));
}

std::size_t RemoteMemory::read_some(ProcessAddress address, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(address.value + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<> RemoteMemory::read(ProcessAddress address, std::span<std::byte> out) const {
  errno = ESRCH;  // what an end of file means here: the memory is gone
  if (read_some(address, out) == out.size()) return {};
  const int error_number = errno;
  return system_error(
      fmt::format("/proc/{}/mem: reading {} bytes at 0x{:x}", pid_, out.size(), address.value), error_number);
}

Result<> RemoteMemory::write(ProcessAddress address, std::span<const std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(address.value + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error_number = n == 0 ? ESRCH : errno;
      return system_error(
          fmt::format("/proc/{}/mem: writing {} bytes at 0x{:x}", pid_, bytes.size(), address.value),
          error_number);
    }
    done += static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace fathom::inject
