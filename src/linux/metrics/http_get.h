// Fetches one document by HTTP from a numeric address. It blocks until its deadline at most, so it runs on a thread of
// its own. No redirect is followed, no name is resolved, nothing is sent but the request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/metrics/address.h"
#include "linux/metrics/http_response.h"

namespace fathom::metrics {

struct Url {
  Address address;
  std::string target = "/";  // path and query
  std::string text;          // as it was given
};
// "http://127.0.0.1:9001/metrics", "http://localhost:9001", "unix:PATH" (its path is then /metrics). kUsage: another
// scheme, a name that would have to be resolved, user names, blanks.
Result<Url> parse_url(std::string_view text);

struct Fetched {
  int status = 0;
  std::string content_type, body;  // the body is unpacked
};
// `stop`: a descriptor that becomes readable when the answer is no longer needed; -1: none. Times are
// CLOCK_MONOTONIC.
Result<Fetched> http_get(const Url& url, std::uint64_t deadline_ns, int stop = -1,
                         std::string_view accept = "*/*", HttpBounds bounds = {});

}  // namespace fathom::metrics
