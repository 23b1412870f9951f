// The metrics endpoint: its own thread answers each request with the latest published text. Clients never
// delay the publisher: at most 16 connections (or as many as the options say), each with 5 seconds to ask and as many to take the answer; a
// new one replaces the oldest. A connection serves one request.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "linux/metrics/address.h"
#include "linux/metrics/families.h"
#include "linux/metrics/request.h"

namespace fathom::metrics {

// Gives the answer of a request whose handler has returned without one. Once, from any thread, also when the server or the client
// is gone.
using LateAnswer = std::function<void(Answer)>;

struct ServerOptions {
  Address address;    // port 0: any that is free
  std::string token;  // what a client has to show; empty: nothing. Beyond loopback there has to be one
  std::uint64_t deadline_ns = 5'000'000'000;
  // What answers instead of the metrics endpoint, on the server's thread; it has to look at host and token by itself.
  std::function<Answer(const Request&)> handler = {};
  // The same for answers that take their time: nullopt now, and the answer later.
  std::function<std::optional<Answer>(const Request&, LateAnswer)> late_handler = {};
  std::uint64_t late_deadline_ns = 0;  // for such an answer
  std::size_t most_connections = 16;
};

class Server {
 public:
  // Listens when it returns. A Unix socket is for this user alone (mode 0600); an existing one is replaced
  // only if no process listens on it.
  static Result<std::unique_ptr<Server>> open(ServerOptions options);
  // Ends all connections; the file of a Unix socket goes.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void publish(std::vector<Family> families);

  const Address& address() const;  // with the port that it got
  std::uint64_t served() const;
  std::uint64_t refused() const;  // answered with an error, or ended without an answer

 private:
  class Thread;
  explicit Server(std::unique_ptr<Thread> thread);
  std::unique_ptr<Thread> thread_;
};

}  // namespace fathom::metrics
