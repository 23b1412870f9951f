#include "linux/metrics/http_get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <thread>

#include "base/clock.h"
#include "linux/metrics/listener.h"
#include "linux/metrics/server.h"

namespace fathom::metrics {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kOneSecond = 1'000'000'000;

TEST(ParseUrl, NumericHostsAndUnixSockets) {
  const Url url = parse_url("http://127.0.0.1:9001/metrics?a=b#c").value();
  EXPECT_EQ(url.address, (Address{"", "127.0.0.1", 9001}));
  EXPECT_EQ(url.target, "/metrics?a=b");
  EXPECT_EQ(parse_url("http://localhost").value().address, (Address{"", "127.0.0.1", 80}));
  EXPECT_EQ(parse_url("http://localhost").value().target, "/metrics");
  EXPECT_EQ(parse_url("127.0.0.1:9001").value().address.port, 9001);
  EXPECT_EQ(parse_url("http://[::1]:9001/m").value().address, (Address{"", "::1", 9001}));
  EXPECT_EQ(parse_url("http://[::1]/m").value().address.port, 80);
  EXPECT_EQ(parse_url("unix:/run/x").value().address.path, "/run/x");
}

TEST(ParseUrl, AnythingElseIsRefused) {
  for (const char* text : {"", "https://127.0.0.1/", "http://example.org/metrics", "http://user@127.0.0.1/",
                           "http://127.0.0.1:0/", "http://127.0.0.1:9001/a b",
                           "http://127.0.0.1:9001/a\r\nHost: x", "file:///etc/passwd"})
    EXPECT_FALSE(parse_url(text)) << text;
}

// Takes one connection and says this.
class Stranger {
 public:
  explicit Stranger(std::string answer, bool stays = false)
      : listener_(std::move(*Listener::open({"", "127.0.0.1", 0}))), thread_([this, answer, stays] {
          pollfd poll{listener_.fd(), POLLIN, 0};
          ::poll(&poll, 1, 60'000);
          const Fd fd(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
          if (!fd) return;
          char buffer[4096];
          if (::recv(fd.get(), buffer, sizeof(buffer), 0) <= 0) return;
          (void)!::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
          while (stays && ::recv(fd.get(), buffer, sizeof(buffer), 0) > 0) {
          }
        }) {}
  ~Stranger() { thread_.join(); }
  Url url() const { return {listener_.address(), "/metrics", "test"}; }

 private:
  Listener listener_;
  std::thread thread_;
};

std::string packed(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(HttpGet, WhatAServerSays) {
  auto server = std::move(*Server::open({{"", "127.0.0.1", 0}, ""}));
  server->publish({{"x", Type::kGauge, "", "An x.", {{"x", {}, 1}}}});
  const auto fetched = http_get({server->address(), "/metrics", "test"}, monotonic_ns() + 60 * kOneSecond);
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(fetched->status, 200);
  EXPECT_THAT(fetched->content_type, HasSubstr("text/plain"));
  EXPECT_EQ(fetched->body, "# HELP x An x.\n# TYPE x gauge\nx 1\n");
}

TEST(HttpGet, APackedAnswerIsUnpacked) {
  const std::string body = packed("x 1\n");
  const Stranger stranger("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
  const auto fetched = http_get(stranger.url(), monotonic_ns() + 60 * kOneSecond);
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(fetched->body, "x 1\n");
}

TEST(HttpGet, AnAnswerThatUnpacksToFarMoreIsRefused) {
  const std::string body = packed(std::string(1 << 20, 'a'));
  const Stranger stranger("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
  const auto fetched = http_get(stranger.url(), monotonic_ns() + 60 * kOneSecond, -1, "*/*", {4096, 100'000});
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr("longer than"));
}

TEST(HttpGet, DamagedPackingIsRefused) {
  const Stranger stranger("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd");
  EXPECT_FALSE(http_get(stranger.url(), monotonic_ns() + 60 * kOneSecond));
}

TEST(HttpGet, AServerThatDoesNotEndIsGivenUpAtTheDeadline) {
  const Stranger stranger("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", true);
  const auto fetched = http_get(stranger.url(), monotonic_ns() + kOneSecond / 20);
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr("no answer in time"));
}

TEST(HttpGet, IsCancelledWhenTheCallerStopsWaiting) {
  const Stranger stranger("", true);
  const Fd stop(::eventfd(1, EFD_CLOEXEC));
  const auto fetched = http_get(stranger.url(), monotonic_ns() + 3600 * kOneSecond, stop.get());
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr("stopped"));
}

TEST(HttpGet, ReportsAMissingListener) {
  // A socket that does not listen takes the port, so no other process can listen there.
  const Fd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<const sockaddr*>(&name), size), 0);
  ASSERT_EQ(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
  const Url url{{"", "127.0.0.1", ntohs(name.sin_port)}, "/", "http://127.0.0.1/"};
  const auto fetched = http_get(url, monotonic_ns() + 60 * kOneSecond);
  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().message, HasSubstr("refused"));
}

}  // namespace
}  // namespace fathom::metrics
