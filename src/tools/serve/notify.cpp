#include "tools/serve/notify.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"

namespace fathom::serve {

ServiceManager ServiceManager::from_environment() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  const char* watchdog = std::getenv("WATCHDOG_USEC");
  std::uint64_t usec = 0;
  if (watchdog != nullptr) std::from_chars(watchdog, watchdog + std::strlen(watchdog), usec);
  ServiceManager manager(socket == nullptr ? "" : socket, usec < UINT64_MAX / 1000 ? usec * 1000 : 0);
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("WATCHDOG_USEC");
  ::unsetenv("WATCHDOG_PID");
  return manager;
}

// Twice as often as is required, as sd_watchdog_enabled(3) advises.
void ServiceManager::alive(std::uint64_t now_ns) {
  if (watchdog_ns_ == 0 || now_ns < next_ns_) return;
  next_ns_ = now_ns + watchdog_ns_ / 2;
  send("WATCHDOG=1");
}

void ServiceManager::send(std::string_view message) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)::sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace fathom::serve
