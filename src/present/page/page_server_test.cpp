#include "present/page/page_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "base/fd.h"

namespace fathom::page {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Shown kShown{"<!DOCTYPE html><p>the page</p>", "0123456789abcdef0123456789abcdef"};

metrics::Request request(std::string target, std::string host = "127.0.0.1:40000",
                         std::string method = "GET") {
  metrics::Request out;
  out.method = std::move(method);
  out.target = std::move(target);
  out.has_host = !host.empty();
  out.host = std::move(host);
  return out;
}

TEST(PageAnswer, WhoKnowsTheAddressGetsThePage) {
  const auto whole = answer(request("/0123456789abcdef0123456789abcdef/"), kShown);
  EXPECT_EQ(whole.status, 200);
  EXPECT_THAT(whole.text, HasSubstr("the page"));
  EXPECT_THAT(whole.text, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(whole.text, HasSubstr("Referrer-Policy: no-referrer"));
  const auto head = answer(request("/0123456789abcdef0123456789abcdef/", "localhost:1", "HEAD"), kShown);
  EXPECT_EQ(head.status, 200);
  EXPECT_THAT(head.text, Not(HasSubstr("the page")));
}

TEST(PageAnswer, WhoDoesNotGetsNothing) {
  for (const char* target : {"/", "/0123456789abcdef0123456789abcdee/", "/0123456789abcdef", "/favicon.ico",
                             "/x/0123456789abcdef0123456789abcdef/", "*", "http://127.0.0.1/"}) {
    const auto refused = answer(request(target), kShown);
    EXPECT_EQ(refused.status, 404) << target;
    EXPECT_THAT(refused.text, Not(HasSubstr("the page"))) << target;
  }
}

TEST(PageAnswer, ANameThatPointsHereIsAnotherHost) {
  const std::string target = "/" + kShown.token + "/";
  EXPECT_EQ(answer(request(target, "evil.example:40000"), kShown).status, 421);
  EXPECT_EQ(answer(request(target, "127.0.0.1.evil.example"), kShown).status, 421);
  for (const char* host :
       {"localhost.evil.example", "localhost.evil.example:40000", "localhosts", "localhost:evil"})
    EXPECT_EQ(answer(request(target, host), kShown).status, 421) << host;
  EXPECT_EQ(answer(request(target, ""), kShown).status, 400);
  EXPECT_EQ(answer(request(target, "[::1]:40000"), kShown).status, 200);
}

TEST(PageAnswer, OtherMethodsAreRefused) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT"})
    EXPECT_EQ(answer(request("/" + kShown.token + "/", "127.0.0.1", method), kShown).status, 405) << method;
}

TEST(PageAnswer, CodeIsAnsweredBelowTheTokenOnly) {
  Shown shown = kShown;
  const std::string target = "/" + shown.token + "/code?fn=a%20b%3A%3Ac&from=2&bad=%zz";
  EXPECT_EQ(answer(request(target), shown).status, 404) << "nothing is to be asked";
  shown.code = [](std::string_view query) {
    const auto words = query_words(query);
    EXPECT_EQ(words.size(), 3u);
    return words[0].first + "/" + words[0].second + "/" + words[1].second + "/" + words[2].second;
  };
  const auto answered = answer(request(target), shown);
  EXPECT_EQ(answered.status, 200);
  EXPECT_THAT(answered.text, HasSubstr("Content-Type: application/json"));
  EXPECT_THAT(answered.text, testing::EndsWith("\r\n\r\nfn/a b::c/2/%zz"));
  EXPECT_EQ(answer(request("/0123456789abcdef0123456789abcdee/code?fn=x"), shown).status, 404);
  EXPECT_EQ(answer(request(target, "evil.example"), shown).status, 421);
  EXPECT_EQ(answer(request(target, "127.0.0.1", "POST"), shown).status, 405);
  EXPECT_THAT(answer(request("/" + shown.token + "/"), shown).text, HasSubstr("connect-src 'self'"));
}

TEST(PageServer, TokensAreLongAndDiffer) {
  std::set<std::string> tokens;
  for (int i = 0; i < 50; ++i) tokens.insert(make_token().value());
  EXPECT_EQ(tokens.size(), 50u);
  EXPECT_EQ(tokens.begin()->size(), 32u);
}

sockaddr_in address_of(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Fd connected(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(port);
  const timeval patience{60, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return Fd();
  return fd;
}

std::string ask(std::uint16_t port, const std::string& text) {
  const Fd fd = connected(port);
  if (!fd) return "";
  (void)!::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  std::string out;
  char buffer[65536];
  for (ssize_t got; (got = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
    out.append(buffer, static_cast<std::size_t>(got));
  return out;
}

std::string path_of(const PageServer& server) {
  const std::string url = server.url();
  return url.substr(url.find('/', 8));
}

TEST(PageServer, ServesAPageOfMegabytesAndRefusesTheRest) {
  auto server = PageServer::open(std::string(6'000'000, 'p'), 0);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const std::uint16_t port = (*server)->port();
  const std::string whole = ask(port, "GET " + path_of(**server) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_THAT(whole.substr(0, 100), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_GT(whole.size(), 6'000'000u);
  EXPECT_THAT(ask(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + std::string(9000, 'a')),
              StartsWith("HTTP/1.1 431"));
}

TEST(PageServer, AThousandHalfOpenConnectionsDoNotKeepItFromAnswering) {
  auto server = PageServer::open("the page", 0);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  // The server is in this process: its connections count as ours.
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  // Without waiting for each: the kernel holds back those for which there is no room.
  std::vector<Fd> half_open;
  for (int i = 0; i < 1000; ++i) {
    half_open.push_back(Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    ASSERT_TRUE(half_open.back()) << i;
    const sockaddr_in address = address_of((*server)->port());
    const bool connected =
        ::connect(half_open.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (connected && i % 2 == 0) (void)!::send(half_open.back().get(), "GET /", 5, MSG_NOSIGNAL);
  }
  // A connection that the kernel delayed may come after ours, which then gives way as an older one: so the
  // client asks again.
  std::string answer;
  for (int i = 0; i < 3 && answer.empty(); ++i)
    answer = ask((*server)->port(), "GET " + path_of(**server) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("the page"));
}

}  // namespace
}  // namespace fathom::page
