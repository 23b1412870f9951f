#include "linux/metrics/http_response.h"

#include <gtest/gtest.h>

namespace fathom::metrics {
namespace {

using State = HttpResponse::State;

HttpResponse fed(std::string_view bytes, HttpBounds bounds = {}) {
  HttpResponse response(bounds);
  response.feed(bytes);
  return response;
}

TEST(HttpResponse, ABodyOfAKnownLengthInAnyPieces) {
  const std::string bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    HttpResponse response;
    if (cut < bytes.size()) {
      EXPECT_EQ(response.feed(std::string_view(bytes).substr(0, cut)), State::kIncomplete) << cut;
    }
    response.feed(std::string_view(bytes).substr(cut < bytes.size() ? cut : 0));
    ASSERT_EQ(response.state(), State::kWhole) << cut;
    EXPECT_EQ(response.status(), 200);
    EXPECT_EQ(response.content_type(), "text/plain");
    EXPECT_EQ(response.body(), "hello");
  }
}

TEST(HttpResponse, ChunksAreJoined) {
  const std::string bytes =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;name=x\r\nhello\r\nA\r\n, world "
      "12\r\n0\r\nTrailer: x\r\n\r\n";
  HttpResponse response;
  for (const char byte : bytes) response.feed(std::string_view(&byte, 1));
  ASSERT_EQ(response.state(), State::kWhole);
  EXPECT_EQ(response.body(), "hello, world 12");
}

TEST(HttpResponse, ABodyWithoutLengthEndsWithTheConnection) {
  HttpResponse response = fed("HTTP/1.0 200 OK\n\nall of it");
  EXPECT_EQ(response.state(), State::kIncomplete);
  EXPECT_EQ(response.end(), State::kWhole);
  EXPECT_EQ(response.body(), "all of it");
}

TEST(HttpResponse, AnEndInTheMidstIsNoAnswer) {
  for (const char* bytes : {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}) {
    HttpResponse response = fed(bytes);
    EXPECT_EQ(response.end(), State::kMalformed) << bytes;
  }
}

TEST(HttpResponse, TheAnswerAfterGoOnCounts) {
  const HttpResponse response =
      fed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(response.state(), State::kWhole);
  EXPECT_EQ(response.status(), 404);
}

TEST(HttpResponse, WhatIsNoResponseIsMalformed) {
  for (const char* head :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n"})
    EXPECT_EQ(fed(head).state(), State::kMalformed) << head;
}

TEST(HttpResponse, NothingGrowsBeyondItsBounds) {
  const HttpBounds bounds{100, 1000};
  EXPECT_EQ(fed("HTTP/1.1 200 OK\r\nA: " + std::string(200, 'a'), bounds).state(), State::kTooLong);
  EXPECT_EQ(fed("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", bounds).state(), State::kTooLong);
  EXPECT_EQ(fed("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n", bounds).state(),
            State::kTooLong);
  EXPECT_EQ(fed("HTTP/1.1 200 OK\r\n\r\n" + std::string(1001, 'a'), bounds).state(), State::kTooLong);
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(fed(chunked + "ffffffffffffffff\r\n", bounds).state(), State::kTooLong);
  EXPECT_EQ(fed(chunked + "1f4\r\n" + std::string(500, 'a') + "\r\n1f5\r\n", bounds).state(),
            State::kTooLong);
  EXPECT_EQ(fed(chunked + std::string(5000, '1'), bounds).state(), State::kTooLong);
  std::string trailers = chunked + "0\r\n";
  for (int i = 0; i < 100; ++i) trailers += "A: b\r\n";
  EXPECT_EQ(fed(trailers, bounds).state(), State::kTooLong);
}

}  // namespace
}  // namespace fathom::metrics
