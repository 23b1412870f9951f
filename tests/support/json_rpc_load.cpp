#include "support/json_rpc_load.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>

#include "base/fd.h"

namespace fathom::support {
namespace {

using Clock = std::chrono::steady_clock;

class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error(fmt::format("no node answers on port {}", port));
    }
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  int descriptor() const { return socket_.get(); }

  void send(const std::string& body) {
    const std::string request = fmt::format(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        "{}\r\n\r\n{}",
        body.size(), body);
    if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size())) {
      throw std::runtime_error("the node hung up");
    }
    answer_.clear();
    sent_ = Clock::now();
  }
  double waited_ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - sent_).count(); }
  // True when the answer is complete.
  bool receive() {
    std::array<char, 65536> chunk;
    const ssize_t got = recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (got <= 0) throw std::runtime_error("the node hung up");
    answer_.append(chunk.data(), static_cast<std::size_t>(got));
    const std::size_t body = answer_.find("\r\n\r\n");
    if (body == std::string::npos) return false;
    std::size_t length_at = answer_.find("content-length: ");
    if (length_at == std::string::npos) length_at = answer_.find("Content-Length: ");
    if (length_at > body) throw std::runtime_error("an answer without a length");
    std::size_t length = 0;
    std::from_chars(answer_.data() + length_at + 16, answer_.data() + body, length);
    return answer_.size() >= body + 4 + length;
  }
  bool answered_with_error() const { return answer_.find("\"error\"") != std::string::npos; }

 private:
  Fd socket_;
  std::string answer_;
  Clock::time_point sent_;
};

struct Answers {
  long count = 0;
  bool any_error = false;
  double seconds = 0;
};

// Until `enough` returns true.
template <class Enough>
Answers ask(int port, const std::vector<std::string>& requests, int connections, Enough enough,
            std::vector<double>* waited_ms = nullptr) {
  std::vector<Connection> all;
  std::vector<pollfd> polled;
  std::size_t next = 0;
  for (int i = 0; i < connections; ++i) {
    all.emplace_back(port);
    all.back().send(requests[next++ % requests.size()]);
    polled.push_back({all.back().descriptor(), POLLIN, 0});
  }
  const auto start = Clock::now();
  Answers answers;
  while (!enough(answers)) {
    poll(polled.data(), polled.size(), 100);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (polled[i].revents == 0 || !all[i].receive()) continue;
      ++answers.count;
      if (waited_ms != nullptr) waited_ms->push_back(all[i].waited_ms());
      if (all[i].answered_with_error()) answers.any_error = true;
      all[i].send(requests[next++ % requests.size()]);
    }
    answers.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return answers;
}

}  // namespace

double json_rpc_load(int port, const std::vector<std::string>& requests, int connections, double seconds,
                     std::vector<double>* waited_ms) {
  const Answers answers = ask(
      port, requests, connections, [&](const Answers& so_far) { return so_far.seconds >= seconds; },
      waited_ms);
  return static_cast<double>(answers.count) / answers.seconds;
}

double json_rpc_work(int port, const std::vector<std::string>& requests, int connections, long count) {
  const Answers answers =
      ask(port, requests, connections, [&](const Answers& so_far) { return so_far.count >= count; });
  if (answers.any_error) throw std::runtime_error("the node answered with an error");
  return answers.seconds;
}

}  // namespace fathom::support
