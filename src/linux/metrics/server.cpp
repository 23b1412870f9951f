#include "linux/metrics/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "linux/metrics/listener.h"
#include "linux/metrics/quiet_thread.h"
#include "linux/metrics/request.h"

namespace fathom::metrics {
namespace {

struct Connection {
  Fd fd;
  std::uint64_t deadline_ns = 0;
  RequestReader reader;
  std::string out;
  std::size_t sent = 0;
  std::uint64_t waits_for = 0;  // the number of an answer that will come later
  bool answered = false;        // `out` is what it gets
  // All of it was sent: waits for the client's end, as its last bytes could get lost otherwise.
  bool finished = false;
  bool ended = false;
};

// Where late answers come in. It outlives the server as long as one may still come.
struct Mailbox {
  explicit Mailbox(Fd fd) : wake(std::move(fd)) {}
  void put(std::uint64_t number, Answer answer) {
    {
      const std::lock_guard lock(mutex);
      answers.emplace_back(number, std::move(answer));
    }
    const std::uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof(one));
  }
  std::vector<std::pair<std::uint64_t, Answer>> take() {
    std::uint64_t count = 0;
    (void)!::read(wake.get(), &count, sizeof(count));
    const std::lock_guard lock(mutex);
    return std::exchange(answers, {});
  }
  const Fd wake;
  std::mutex mutex;
  std::vector<std::pair<std::uint64_t, Answer>> answers;
};

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

class Server::Thread {
 public:
  Thread(Listener listener, ServerOptions options, Fd wake)
      : listener_(std::move(listener)),
        options_(std::move(options)),
        mailbox_(std::make_shared<Mailbox>(std::move(wake))) {
    policy_ = {listener_.address(), options_.token};
    thread_ = quiet_thread([this] { run(); });
  }
  ~Thread() {
    ends_ = true;
    const std::uint64_t one = 1;
    (void)!::write(mailbox_->wake.get(), &one, sizeof(one));
    thread_.join();
  }
  void publish(std::vector<Family> families) {
    auto next = std::make_shared<const std::vector<Family>>(std::move(families));
    const std::lock_guard lock(mutex_);
    families_.swap(next);
  }
  const Address& address() const { return listener_.address(); }
  std::atomic<std::uint64_t> served{0}, refused{0};

 private:
  void run() {
    while (!ends_) {
      const std::uint64_t now = monotonic_ns();
      std::vector<pollfd> polls{{mailbox_->wake.get(), POLLIN, 0},
                                {listener_.fd(), static_cast<short>(now < accept_from_ns_ ? 0 : POLLIN), 0}};
      std::uint64_t until = std::max(now, accept_from_ns_);
      if (accept_from_ns_ <= now) until = UINT64_MAX;
      for (const Connection& connection : connections_) {
        const bool sends = connection.answered && !connection.finished;
        polls.push_back({connection.fd.get(), static_cast<short>(sends ? POLLOUT : POLLIN), 0});
        until = std::min(until, connection.deadline_ns);
      }
      const int timeout =
          until == UINT64_MAX ? -1 : static_cast<int>(until > now ? (until - now) / 1'000'000 + 1 : 0);
      if (::poll(polls.data(), polls.size(), timeout) < 0) {
        // Out of memory or of descriptors for this process. The connections are unknown then; a later call
        // may succeed.
        if (errno != EINTR) pause();
        continue;
      }
      if ((polls[0].revents & POLLIN) != 0) deliver();
      std::size_t i = 2;
      for (Connection& connection : connections_) step(connection, polls[i++].revents);
      connections_.remove_if([](const Connection& connection) { return connection.ended; });
      if ((polls[1].revents & POLLIN) != 0) accept_one();
    }
  }

  static void pause() {
    const timespec tenth{0, 100'000'000};
    ::nanosleep(&tenth, nullptr);
  }

  void accept_one() {
    Fd fd(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      // Out of descriptors: the client stays in the queue, so ask again later and not at once.
      if (!would_block() && errno != ECONNABORTED) accept_from_ns_ = monotonic_ns() + 100'000'000;
      return;
    }
    if (connections_.size() >= options_.most_connections) end(connections_.front()), connections_.pop_front();
    Connection& connection = connections_.emplace_back();
    connection.fd = std::move(fd);
    connection.deadline_ns = monotonic_ns() + options_.deadline_ns;
  }

  void end(Connection& connection) {
    if (!connection.answered) ++refused;
    // What it did not read is dropped, and not kept by the kernel until it does.
    const linger at_once{1, 0};
    if (!connection.finished)
      ::setsockopt(connection.fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    connection.ended = true;
  }

  void step(Connection& connection, short events) {
    if (connection.ended) return;
    if ((events & (POLLIN | POLLOUT | POLLERR | POLLHUP)) != 0) {
      if (!connection.answered || connection.finished)
        receive(connection);
      else
        send(connection);
    }
    if (connection.ended || monotonic_ns() < connection.deadline_ns) return;
    if (connection.answered) return end(connection);
    respond(connection, refusal(408));
    send(connection);
  }

  void receive(Connection& connection) {
    std::array<char, 4096> buffer;
    const ssize_t got = ::recv(connection.fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && would_block()) return;
    if (got <= 0) return end(connection);
    if (connection.finished || connection.waits_for != 0) return;  // whatever else it has to say
    switch (connection.reader.feed({buffer.data(), static_cast<std::size_t>(got)})) {
      case Parsed::kIncomplete:
        return;
      case Parsed::kMalformed:
        respond(connection, refusal(400));
        break;
      case Parsed::kTooLong:
        respond(connection, refusal(431));
        break;
      case Parsed::kWhole:
        if (!take_up(connection)) return;
        break;
    }
    send(connection);
  }

  // False: its answer comes later.
  bool take_up(Connection& connection) {
    const Request& request = connection.reader.request();
    if (!options_.late_handler) {
      respond(connection,
              options_.handler ? options_.handler(request) : answer(request, policy_, published().get()));
      return true;
    }
    const std::uint64_t number = ++last_number_;
    auto now = options_.late_handler(
        request, [mailbox = mailbox_, number](Answer late) { mailbox->put(number, std::move(late)); });
    if (now) {
      respond(connection, std::move(*now));
      return true;
    }
    connection.waits_for = number;
    connection.deadline_ns = monotonic_ns() + options_.late_deadline_ns;
    return false;
  }

  void deliver() {
    for (auto& [number, late] : mailbox_->take())
      for (Connection& connection : connections_) {
        if (connection.waits_for != number || connection.answered || connection.ended) continue;
        connection.waits_for = 0;
        respond(connection, std::move(late));
        send(connection);
      }
  }

  std::shared_ptr<const std::vector<Family>> published() const {
    const std::lock_guard lock(mutex_);
    return families_;
  }

  void respond(Connection& connection, Answer answer) {
    ++(answer.status == 200 ? served : refused);
    connection.answered = true;
    connection.deadline_ns = monotonic_ns() + options_.deadline_ns;
    connection.out = std::move(answer.text);
  }

  void send(Connection& connection) {
    while (connection.sent < connection.out.size()) {
      const ssize_t sent = ::send(connection.fd.get(), connection.out.data() + connection.sent,
                                  connection.out.size() - connection.sent, MSG_NOSIGNAL);
      if (sent < 0 && would_block()) return;
      if (sent <= 0) {
        connection.ended = true;
        return;
      }
      connection.sent += static_cast<std::size_t>(sent);
    }
    connection.finished = true;
    ::shutdown(connection.fd.get(), SHUT_WR);
    connection.deadline_ns = std::min(connection.deadline_ns, monotonic_ns() + 1'000'000'000);
  }

  Listener listener_;
  const ServerOptions options_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::uint64_t last_number_ = 0;
  Policy policy_;
  std::atomic<bool> ends_{false};
  std::list<Connection> connections_;  // oldest first
  std::uint64_t accept_from_ns_ = 0;
  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<Family>> families_;  // null: nothing was published yet
  std::thread thread_;                                   // last: it uses all of the above
};

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  if (!options.address.is_loopback() && options.token.empty())
    return fail(ErrorKind::kUsage,
                fmt::format("{} can be reached from other machines, and no token is asked for",
                            options.address.to_string()),
                "a loopback address, or --listen-token FILE");
  auto listener = Listener::open(options.address);
  if (!listener) return tl::unexpected<Error>(listener.error());
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail(ErrorKind::kSystem, fmt::format("eventfd: {}", std::strerror(errno)));
  return std::unique_ptr<Server>(
      new Server(std::make_unique<Thread>(std::move(*listener), std::move(options), std::move(wake))));
}

Server::Server(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
Server::~Server() = default;
void Server::publish(std::vector<Family> families) {
  thread_->publish(std::move(families));
}
const Address& Server::address() const {
  return thread_->address();
}
std::uint64_t Server::served() const {
  return thread_->served;
}
std::uint64_t Server::refused() const {
  return thread_->refused;
}

}  // namespace fathom::metrics
