#include "linux/metrics/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/clock.h"
#include "base/files.h"
#include "linux/metrics/host_addresses.h"
#include "linux/metrics/testing_http_server.h"

namespace fathom::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kClientSecond = 1'000'000'000;
std::uint64_t in_a_minute() {
  return monotonic_ns() + 60 * kClientSecond;
}

class HttpScratchFolder {
 public:
  HttpScratchFolder() {
    std::string name = testing::TempDir() + "http-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path = name;
  }
  ~HttpScratchFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(HttpClient, SendsMethodHeadersLoginAndBody) {
  TestingHttpServer server(
      [](const std::string&) { return http_answer(201, "made", "X-Code: 7\r\nX-Code: 8\r\n"); });
  HttpRequest request{server.url("/push?a=b"), "POST", {{"Content-Type", "text/x"}, {"X-Empty", ""}}, ""};
  request.url.user = "me";
  request.url.password = "pass";
  request.body = std::string(3 << 20, 'b') + "end";  // more than the buffers of a socket
  const auto reply = http_request(request, in_a_minute());
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, "made");
  EXPECT_EQ(reply->header("x-code"), "7");
  EXPECT_EQ(reply->header("x-none"), "");
  const std::string sent = server.requests().at(0);
  EXPECT_THAT(sent, testing::StartsWith("POST /push?a=b HTTP/1.1\r\nHost: 127.0.0.1:"));
  for (const char* line : {"\r\nContent-Length: 3145731\r\n", "\r\nContent-Type: text/x\r\n",
                           "\r\nX-Empty: \r\n", "\r\nAuthorization: Basic bWU6cGFzcw==\r\n"})
    EXPECT_THAT(sent.substr(0, 2000), HasSubstr(line));
  EXPECT_TRUE(sent.ends_with("\r\n\r\n" + request.body));
}

TEST(HttpClient, WorksOverAUnixSocketAndByName) {
  const HttpScratchFolder folder;
  TestingHttpServer on_socket([](const std::string&) { return http_answer(200, "s"); },
                              {folder.path + "/s", "", 0});
  EXPECT_EQ(http_request({on_socket.url(), "DELETE"}, in_a_minute()).value().body, "s");
  TestingHttpServer server([](const std::string&) { return http_answer(200, "n"); });
  HttpRequest request{server.url()};
  request.url.host = "localhost";
  EXPECT_EQ(http_request(request, in_a_minute()).value().body, "n");
}

TEST(HttpClient, EachAddressOfAHostHasItsShareOfTheTime) {
  constexpr std::uint64_t kNow = 500 * kClientSecond;
  EXPECT_EQ(connect_deadline_ns(kNow, kNow + 8 * kClientSecond, 2), kNow + 4 * kClientSecond);
  EXPECT_EQ(connect_deadline_ns(kNow, kNow + 8 * kClientSecond, 1), kNow + 8 * kClientSecond)
      << "the last one";
  EXPECT_EQ(connect_deadline_ns(kNow, kNow + 120 * kClientSecond, 2), kNow + 10 * kClientSecond);
  EXPECT_EQ(connect_deadline_ns(kNow, kNow - 1, 2), kNow - 1) << "the time is over";
}

TEST(HttpClient, AChunkedAnswerIsJoined) {
  TestingHttpServer server([](const std::string&) {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
  });
  EXPECT_EQ(http_request({server.url(), "POST"}, in_a_minute()).value().body, "abcde");
}

TEST(HttpClient, AnEarlyRefusalIsReadThoughTheBodyIsNotTaken) {
  TestingHttpServer server([](const std::string&) { return http_answer(413, "too large"); },
                           {"", "127.0.0.1", 0}, false);
  const auto reply = http_request({server.url(), "POST", {}, std::string(20 << 20, 'b')}, in_a_minute());
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 413);
}

TEST(HttpClient, AnEarlySuccessIsNoSuccess) {
  TestingHttpServer server([](const std::string&) { return http_answer(200, "ok"); }, {"", "127.0.0.1", 0},
                           false);
  const auto reply = http_request({server.url(), "POST", {}, std::string(20 << 20, 'b')}, in_a_minute());
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("before it had received the whole request"));
}

TEST(HttpClient, HostileAnswersAreErrors) {
  const std::string long_head = "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n";
  for (const std::string& answer :
       {std::string(), std::string("nonsense\r\n\r\n"), std::string("HTTP/1.1 999 X\r\n\r\n"), long_head,
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"),
        std::string("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nabc")}) {
    TestingHttpServer server([&](const std::string&) { return answer; });
    HttpRequest request{server.url("/x?password=secret"), "POST"};
    request.url.user = "me", request.url.password = "secret";
    const auto reply = http_request(request, in_a_minute(), -1, {4096, 10'000});
    ASSERT_FALSE(reply) << answer.substr(0, 100);
    EXPECT_THAT(reply.error().message, HasSubstr("http://127.0.0.1:"));
    EXPECT_THAT(reply.error().message, Not(HasSubstr("secret")));
  }
}

TEST(HttpClient, AHeaderThatWouldBecomeTwoIsRefused) {
  TestingHttpServer server([](const std::string&) { return http_answer(200, ""); });
  for (const std::pair<std::string, std::string>& header :
       {std::pair<std::string, std::string>{"X", "a\r\nY: b"},
        {"X: b\r\nY", "a"},
        {"", "a"},
        {"X", std::string("a\0b", 3)}}) {
    const auto reply = http_request({server.url(), "POST", {header}}, in_a_minute());
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().kind, ErrorKind::kUsage);
  }
  EXPECT_FALSE(http_request({server.url(), "GET /\r\n"}, in_a_minute()));
  EXPECT_FALSE(http_request({server.url("/ b"), "GET"}, in_a_minute()));
  EXPECT_TRUE(server.requests().empty());
}

// A curl that notes its arguments, its configuration and the body, and answers what its folder says.
class WithCurl : public testing::Test {
 protected:
  void SetUp() override {
    old_path_ = ::getenv("PATH");
    ::setenv("PATH", (folder_.path + ":" + old_path_).c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", old_path_.c_str(), 1); }
  void install(const std::string& answer, int status, const std::string& words = {}) {
    ASSERT_TRUE(write_file(folder_.path + "/answer", answer));
    ASSERT_TRUE(write_file(folder_.path + "/curl",
                           "#!/bin/sh\ncd " + folder_.path +
                               "\necho \"$@\" > arguments\ncat > config\ncat /proc/self/fd/3 > body\n" +
                               "cat answer\necho '" + words + "' >&2\nexit " + std::to_string(status) +
                               "\n"));
    ASSERT_EQ(::chmod((folder_.path + "/curl").c_str(), 0700), 0);
  }
  std::string noted(const std::string& name) { return read_file(folder_.path + "/" + name).value_or(""); }
  HttpRequest request() {
    HttpRequest request{parse_http_url("https://me:sec%22ret@db.example.org:8443/push?token=secret").value(),
                        "POST"};
    request.headers = {{"X-Key", "a\"b\\c"}};
    request.body = std::string("\0body", 5);
    return request;
  }
  HttpScratchFolder folder_;
  std::string old_path_;
};

TEST_F(WithCurl, SecretsGoThroughItsInputAndNeverIntoItsArguments) {
  install(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
      0);
  const auto reply = http_request(request(), in_a_minute());
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "hi");
  EXPECT_EQ(reply->header("x-a"), "b");
  EXPECT_EQ(noted("arguments"), "-q --config -\n");
  EXPECT_EQ(noted("body"), std::string("\0body", 5));
  const std::string config = noted("config");
  for (const char* line : {"url = \"https://db.example.org:8443/push?token=secret\"\n",
                           "request = \"POST\"\n", "header = \"X-Key: a\\\"b\\\\c\"\n",
                           "header = \"Authorization: Basic bWU6c2VjInJldA==\"\n", "proto = \"=https\"\n"})
    EXPECT_THAT(config, HasSubstr(line));
  EXPECT_THAT(config, Not(HasSubstr("insecure")));
}

TEST_F(WithCurl, ItsErrorIsReportedWithoutSecrets) {
  install(
      "", 60,
      "curl: (60) SSL certificate problem: self-signed certificate\nMore details here: https://curl.se\n\nhow to fix it, see above.");
  const auto reply = http_request(request(), in_a_minute());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message,
            "https://db.example.org:8443/push: curl: (60) SSL certificate problem: self-signed certificate");
  EXPECT_THAT(reply.error().remedy, HasSubstr("CURL_CA_BUNDLE"));
  EXPECT_EQ(reply.error().kind, ErrorKind::kPermission) << "it is of no use to try again";
}

TEST_F(WithCurl, AnAnswerThatIsTooLongIsRefused) {
  install("HTTP/1.1 200 OK\r\n\r\n" + std::string(200'000, 'x'), 0);
  const auto reply = http_request(request(), in_a_minute(), -1, {4096, 10'000});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::kMalformed);
}

TEST_F(WithCurl, AMissingCurlIsReportedWithARemedy) {
  ::setenv("PATH", folder_.path.c_str(), 1);
  const auto reply = http_request(request(), in_a_minute());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(reply.error().message, HasSubstr("needs the program curl"));
  EXPECT_THAT(reply.error().remedy, HasSubstr("curl"));
}

}  // namespace
}  // namespace fathom::metrics
