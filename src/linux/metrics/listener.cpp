#include "linux/metrics/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fathom::metrics {
namespace {

constexpr int kBacklog = 16;

tl::unexpected<Error> system_error(const Address& address, std::string remedy = {}) {
  const int error = errno;
  return fail(error == EACCES || error == EPERM ? ErrorKind::kPermission : ErrorKind::kSystem,
              fmt::format("{}: {}", address.to_string(), std::strerror(error)), std::move(remedy));
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());  // parse_address() has checked its length
  return address;
}

// Two processes that start at the same time must not both find the other's socket stale: so the folder is
// locked meanwhile. Any reader of the folder can hold that lock, so we wait only as long as a starting
// process can need it.
Result<Fd> lock_folder(const Address& address) {
  const std::string& path = address.path;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == EACCES)
    return fd;  // a folder that can be written to and not read: there is nothing to lock
  if (!fd) return fail(ErrorKind::kNotFound, fmt::format("{}: {}", folder, std::strerror(errno)));
  for (int attempt = 0; attempt < 100 && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK && errno != EINTR) break;  // a file system without locks
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return fd;
}

// Whether there is room for a socket at `path`: it is free, or has a stale socket without a listener, which
// is removed.
Result<> make_room(const Address& address) {
  struct stat status {};
  if (::lstat(address.path.c_str(), &status) != 0)
    return errno == ENOENT ? Result<>() : Result<>(system_error(address));
  if (!S_ISSOCK(status.st_mode))
    return fail(ErrorKind::kUsage, fmt::format("{}: there is a file that is not a socket", address.path),
                "another path");
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un name = unix_address(address.path);
  const bool listens = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 ||
                       errno == EAGAIN || errno == EINPROGRESS;  // its queue is full
  if (listens)
    return fail(ErrorKind::kSystem, fmt::format("{}: another program listens there", address.path),
                "another path");
  if (errno == EACCES || errno == EPERM)
    return fail(
        ErrorKind::kPermission,
        fmt::format("{}: a socket exists there, and this user cannot check who listens on it", address.path),
        "another path");
  if (errno != ECONNREFUSED) return system_error(address);
  if (::unlink(address.path.c_str()) != 0) return system_error(address);
  return {};
}

}  // namespace

Result<Listener> Listener::open_unix(const Address& address) {
  const auto lock = lock_folder(address);
  if (!lock) return tl::unexpected<Error>(lock.error());
  if (auto room = make_room(address); !room) return tl::unexpected<Error>(room.error());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un name = unix_address(address.path);
  // The mode of the socket is that of the file, from its first moment on.
  if (!fd || ::fchmod(fd.get(), 0600) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0)
    return system_error(address);
  struct stat status {};
  if (::lstat(address.path.c_str(), &status) != 0) return system_error(address);
  Listener listener(std::move(fd), address);
  listener.device_ = status.st_dev;
  listener.inode_ = status.st_ino;
  if ((status.st_mode & 0177) != 0)
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: this file system does not keep the socket's mode", address.path));
  if (::listen(listener.fd(), kBacklog) != 0) return system_error(address);
  return listener;
}

Result<Listener> Listener::open(const Address& address) {
  if (address.is_unix()) return open_unix(address);
  sockaddr_storage name;
  socklen_t size = 0;
  if (!address.fill(name, size))
    return fail(ErrorKind::kUsage, address.to_string() + " is not a numeric address");
  Fd fd(::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The port of a watch that has just ended is free again; one that listens stays refused.
  const int yes = 1;
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0 ||
      ::listen(fd.get(), kBacklog) != 0)
    return system_error(address, errno == EADDRINUSE ? "another port, or port 0 for any that is free"
                                 : errno == EACCES
                                     ? "use a port above 1023: only root can listen on lower ones"
                                     : "");
  size = sizeof(name);
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return system_error(address);
  Address bound = address;
  std::uint16_t port = 0;  // at the same place of both kinds
  std::memcpy(&port, reinterpret_cast<const char*>(&name) + offsetof(sockaddr_in, sin_port), sizeof(port));
  bound.port = ntohs(port);
  return Listener(std::move(fd), bound);
}

Listener::~Listener() {
  if (!fd_ || !address_.is_unix() || inode_ == 0) return;
  struct stat status {};
  if (::lstat(address_.path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
    ::unlink(address_.path.c_str());
}

}  // namespace fathom::metrics
