// Messages to the service manager: sd_notify(3) without its library. Nothing happens where no manager listens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::serve {

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET and WATCHDOG_USEC of this process, and removes them from its environment: children are not to use them.
  static ServiceManager from_environment();
  explicit ServiceManager(std::string socket = {}, std::uint64_t watchdog_ns = 0)
      : socket_(std::move(socket)), watchdog_ns_(watchdog_ns) {}

  void ready() const { send("READY=1"); }
  void stopping() const { send("STOPPING=1"); }
  void status(std::string_view sentence) const { send("STATUS=" + std::string(sentence)); }
  // Sends the sign of life when it is due.
  void alive(std::uint64_t now_ns);

 private:
  void send(std::string_view message) const;

  std::string socket_;  // path, or @NAME of an abstract one; empty: there is no manager
  std::uint64_t watchdog_ns_ = 0, next_ns_ = 0;
};

}  // namespace fathom::serve
