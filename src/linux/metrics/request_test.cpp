#include "linux/metrics/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::metrics {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::vector<Family> kFamilies{{"x", Type::kGauge, "", "An x.", {{"x", {}, 1}}}};
const Policy kLoopback{{"", "127.0.0.1", 9101}, ""};

Request whole(std::string_view bytes) {
  Request request;
  EXPECT_EQ(parse_request(bytes, request), Parsed::kWhole) << bytes;
  return request;
}
Answer ask(std::string_view bytes, const Policy& policy = kLoopback) {
  return answer(whole(bytes), policy, &kFamilies);
}
Parsed outcome(std::string_view bytes) {
  Request request;
  return parse_request(bytes, request);
}

TEST(Request, EveryPrefixIsIncompleteAndTheWholeIsRead) {
  const std::string_view bytes =
      "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9101\r\nACCEPT: text/plain\r\naccept: */*\r\nAuthorization: "
      "Bearer  abc \r\n\r\n";
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(outcome(bytes.substr(0, size)), Parsed::kIncomplete) << size;
  const Request request = whole(bytes);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/metrics");
  EXPECT_EQ(request.host, "127.0.0.1:9101");
  EXPECT_EQ(request.accept, "text/plain,*/*");
  EXPECT_EQ(request.authorization, "Bearer  abc");
}

TEST(Request, WhatIsNoRequestIsMalformed) {
  for (const char* bytes :
       {"GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics HTTP/2.0\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        "G\x01T / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", "\x16\x03\x01 hello tls\n\n"})
    EXPECT_EQ(outcome(bytes), Parsed::kMalformed) << bytes;
}

TEST(Request, InSinglePiecesItIsWhatItIsAtOnce) {
  for (const std::string& bytes :
       {std::string("\r\nGET /metrics HTTP/1.1\r\nHost: a\nAccept: b\r\n\r\nmore"),
        std::string("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), std::string("GET\nHost: a\n\n"),
        "GET / HTTP/1.1\r\nA: " + std::string(2 * kMostRequestBytes, 'a')}) {
    RequestReader reader;
    for (std::size_t size = 1; size <= bytes.size(); ++size)
      ASSERT_EQ(reader.feed(std::string_view(bytes).substr(size - 1, 1)), outcome(bytes.substr(0, size)))
          << bytes.substr(0, size);
    Request request;
    (void)parse_request(bytes, request);
    EXPECT_EQ(reader.request().host, request.host);
    EXPECT_EQ(reader.request().accept, request.accept);
  }
}

TEST(Request, AHeadWithoutEndIsCutAtItsBound) {
  EXPECT_EQ(outcome("GET / HTTP/1.1\r\nA: " + std::string(kMostRequestBytes, 'a')), Parsed::kTooLong);
  EXPECT_EQ(outcome(std::string(kMostRequestBytes, 'a')), Parsed::kTooLong);
  EXPECT_EQ(outcome(std::string(kMostRequestBytes, '\n')), Parsed::kTooLong);
}

TEST(Answer, MetricsInTheFormatThatWasAskedFor) {
  const Answer text = ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9101\r\n\r\n");
  EXPECT_EQ(text.status, 200);
  EXPECT_THAT(text.text, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(text.text, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(text.text, HasSubstr("\r\n\r\n# HELP x An x.\n# TYPE x gauge\nx 1\n"));
  const Answer open =
      ask("GET /metrics?a=b HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n");
  EXPECT_THAT(open.text, HasSubstr("x 1\n# EOF\n"));
}

TEST(Answer, HeadHasNoBody) {
  const Answer head = ask("HEAD /metrics HTTP/1.1\r\nHost: [::1]:9101\r\n\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.text.ends_with("\r\n\r\n"));
}

TEST(Answer, OtherPathsAndMethodsAreRefused) {
  EXPECT_EQ(ask("GET /debug HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  EXPECT_EQ(ask("GET /metrics/../etc HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  for (const char* method : {"POST", "PUT", "DELETE", "CONNECT", "get"}) {
    const Answer refused = ask(std::string(method) + " /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(refused.status, 405) << method;
    EXPECT_THAT(refused.text, HasSubstr("Allow: GET, HEAD\r\n"));
  }
}

TEST(Answer, ARequestThatNamesAnotherHostIsNotForUs) {
  for (const char* host : {"evil.example", "evil.example:9101", "10.0.0.1:9101", "127.0.0.1.evil.example", "",
                           "[::2]", "localhost.evil.example", "localhost.evil.example:9101", "localhosts",
                           "localhost:evil.example", "localhost.", "xlocalhost"})
    EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n").status, 421) << host;
  for (const char* host : {"127.0.0.1", "127.0.0.1:80", "LocalHost:9101", "[::1]:9101"})
    EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n").status, 200) << host;
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(ask("GET /metrics HTTP/1.0\r\n\r\n").status, 200);
}

TEST(Answer, OnAUnixSocketTheNameOfTheHostMeansNothing) {
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: anything\r\n\r\n", {{"/run/x", "", 0}, ""}).status, 200);
}

TEST(Answer, WhereATokenIsAskedForNothingIsRevealedWithoutIt) {
  const Policy policy{{"", "0.0.0.0", 9101}, "0123456789abcdef"};
  const std::string head = "GET /metrics HTTP/1.1\r\nHost: node.example\r\n";
  const Answer refused = ask(head + "\r\n", policy);
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.text, HasSubstr("WWW-Authenticate: Bearer\r\n"));
  for (const char* value : {"0123456789abcdef", "Basic 0123456789abcdef", "Bearer", "Bearer ",
                            "Bearer 0123456789abcde", "Bearer 0123456789abcdeff", "Bearer 0123456789ABCDEF",
                            "Digest 0123456789abcdef", "Bearer:0123456789abcdef", "xearer 0123456789abcdef"})
    EXPECT_EQ(ask(head + "Authorization: " + value + "\r\n\r\n", policy).status, 401) << value;
  EXPECT_EQ(answer(whole(head + "\r\n"), policy, nullptr).status, 401) << "nor that there is nothing yet";
  EXPECT_EQ(ask("GET /other HTTP/1.1\r\nHost: x\r\n\r\n", policy).status, 401)
      << "not even what paths there are";
  EXPECT_EQ(ask(head + "Authorization: Bearer 0123456789abcdef\r\n\r\n", policy).status, 200);
  EXPECT_EQ(ask(head + "authorization: bearer 0123456789abcdef\r\n\r\n", policy).status, 200);
}

}  // namespace
}  // namespace fathom::metrics
