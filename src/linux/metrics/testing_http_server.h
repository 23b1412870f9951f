// A server for tests: takes connections one after another, reads each request to its end and says what it is given.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linux/metrics/http_url.h"
#include "linux/metrics/listener.h"

namespace fathom::metrics {

class TestingHttpServer {
 public:
  // `answer` receives head and body of a request; what it returns goes out, and then the connection is closed.
  using Answer = std::function<std::string(const std::string& request)>;
  explicit TestingHttpServer(Answer answer, Address address = {"", "127.0.0.1", 0}, bool reads_body = true)
      : listener_(std::move(*Listener::open(address))), thread_([this, answer, reads_body] {
          while (!stops_) take_one(answer, reads_body);
        }) {}
  ~TestingHttpServer() {
    stops_ = true;
    thread_.join();
  }

  HttpUrl url(const std::string& target = "/") const {
    HttpUrl url;
    url.host = listener_.address().host;
    url.port = listener_.address().port;
    url.socket = listener_.address().path;
    url.target = target;
    return url;
  }
  const Address& address() const { return listener_.address(); }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void take_one(const Answer& answer, bool reads_body) {
    pollfd poll{listener_.fd(), POLLIN, 0};
    if (::poll(&poll, 1, 20) <= 0) return;
    const Fd fd(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return;
    std::string request(64 << 10, '\0');
    const ssize_t first = ::recv(fd.get(), request.data(), request.size(), 0);
    request.resize(first > 0 ? static_cast<std::size_t>(first) : 0);
    const auto is_whole = [&] {
      const std::size_t end = request.find("\r\n\r\n"), length = request.find("Content-Length: ");
      if (end == request.npos) return false;
      return length > end || request.size() - end - 4 >= std::stoul(request.substr(length + 16));
    };
    while (reads_body && !is_whole()) {
      std::string more(64 << 10, '\0');
      const ssize_t got = ::recv(fd.get(), more.data(), more.size(), 0);
      if (got <= 0) break;
      request.append(more, 0, static_cast<std::size_t>(got));
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const std::string reply = answer(request);
    (void)!::send(fd.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
    (void)::shutdown(fd.get(), SHUT_WR);
    char rest;
    while (!stops_ && ::recv(fd.get(), &rest, 1, MSG_DONTWAIT) > 0) {
    }
  }

  Listener listener_;
  std::atomic<bool> stops_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

inline std::string http_answer(int status, const std::string& body, const std::string& headers = {}) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace fathom::metrics
