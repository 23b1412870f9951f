// What a client of the metrics endpoint asks, and the answer. Pure. Source: RFC 9110, RFC 9112. Bytes of a stranger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linux/metrics/address.h"
#include "linux/metrics/families.h"

namespace fathom::metrics {

inline constexpr std::size_t kMostRequestBytes = 8192;  // request line and headers; a body is never read

struct Request {
  std::string method, target, host, accept, authorization;
  bool has_host = false;
  int version_minor = 1;
};

enum class Parsed : std::uint8_t { kIncomplete, kWhole, kMalformed, kTooLong };

// Fed with whatever came; looks at each byte once, however small the pieces are.
class RequestReader {
 public:
  // What is known after all pieces so far; once it is not kIncomplete it stays.
  Parsed feed(std::string_view bytes);
  const Request& request() const { return request_; }  // whole with kWhole only

 private:
  Parsed take_line(std::string_view line);

  Parsed state_ = Parsed::kIncomplete;
  bool has_request_line_ = false;
  std::size_t bytes_ = 0;  // of all that came
  std::string line_;       // as much of the next one as is there
  Request request_;
};
// Of a request that is there at once.
Parsed parse_request(std::string_view bytes, Request& request);

// What the endpoint allows.
struct Policy {
  Address address;    // that it listens on: a request to it names it
  std::string token;  // empty: none is required
};

// Whether a request to a loopback address is meant for it: a page in a browser that has its own name point there still names
// itself. Without a name only as HTTP/1.0 has it.
bool names_loopback(const Request& request);

struct Answer {
  int status = 200;
  std::string text;  // the whole response, with its head
};
// What the policy refuses, whatever is asked for: 401 without the token, 405 of another method than GET and HEAD, 421 where the
// request was meant for another host: a page in a browser that has its own name point to the loopback address. nullopt: allowed.
std::optional<Answer> refusal_of(const Request& request, const Policy& policy);
// A response with its head. `headers`: whole lines, each with its end; `with_body` false: for HEAD.
Answer make_answer(int status, std::string_view type, std::string_view body, bool with_body,
                   std::string_view headers = "");
// 200 with all families (null: nothing was published yet, 503); 404 of another path; else refusal_of().
Answer answer(const Request& request, const Policy& policy, const std::vector<Family>* families);
Answer refusal(int status);

}  // namespace fathom::metrics
