// Where an HTTP request goes: a name or an address, plain or with TLS, or a Unix socket. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::metrics {

struct HttpUrl {
  bool tls = false;
  std::string host;  // a name or a numeric address without brackets; empty: a Unix socket
  std::uint16_t port = 0;
  std::string socket;          // path of a Unix socket
  std::string target = "/";    // path and query, as they go into the request
  std::string user, password;  // decoded; empty: none
  // "https://example.org:8443/push": for messages. Without user, password and query: any of them may hold a secret.
  std::string text() const;
  std::string authority() const;  // "example.org:8443", "[::1]:80"; "localhost" for a Unix socket
};

// "http://HOST[:PORT][/PATH][?QUERY]", https://, "unix:PATH"; with USER[:PASSWORD]@ before the host, percent-encoded where a
// character has a meaning in a URL. kUsage: anything else. Errors hide user and password.
Result<HttpUrl> parse_http_url(std::string_view text);

// The text without what stands before its last '@': for messages about a URL that may hold a password.
std::string without_secrets(std::string_view text);

// "%2F" to "/". False: a '%' without two digits.
bool percent_decode(std::string_view text, std::string& out);
// Calls `take` with each "KEY=VALUE" between the '&' of a query, decoded, until it fails; a key alone has an empty value. kUsage, with
// `form` as the remedy: a '%' without two digits.
Result<> for_each_parameter(
    std::string_view query, std::string_view form,
    const std::function<Result<>(const std::string& key, const std::string& value)>& take);
// All but letters, digits and -._~ as %XX.
std::string percent_encode(std::string_view text);

// "dXNlcg==": RFC 4648 with padding.
std::string base64(std::string_view bytes);

}  // namespace fathom::metrics
