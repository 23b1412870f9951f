// Sends one HTTP request with any method, headers and body, and returns the answer. http:// and Unix sockets by code of our
// own; https:// through the program curl (WHY.md). It blocks until its deadline at most. No redirect is followed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "linux/metrics/http_response.h"
#include "linux/metrics/http_url.h"

namespace fathom::metrics {

struct HttpRequest {
  HttpUrl url;  // a user in it becomes "Authorization: Basic"
  std::string method = "GET";
  // Beyond Host, User-Agent, Accept-Encoding, Connection, Content-Length and Authorization, which the client sets.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
};

struct HttpReply {
  int status = 0;
  std::string content_type;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;                                          // unpacked
  // The first one of that name (in lower case); empty if there is none.
  std::string_view header(std::string_view name) const;
};

// Any status is an answer, not an error. `deadline_ns`: CLOCK_MONOTONIC. `stop`: a descriptor that becomes readable when the
// answer is no longer needed; -1: none. kUsage: a header or method that would not stay in its line. kNotFound: curl is not
// installed, or the host's name is unknown. kSystem: no connection, no answer in time. kPermission: a certificate that is not valid.
// kMalformed: no HTTP, or more than `bounds`. Errors name the URL without user, password and query, and no header.
Result<HttpReply> http_request(const HttpRequest& request, std::uint64_t deadline_ns, int stop = -1,
                               HttpBounds bounds = {});

}  // namespace fathom::metrics
