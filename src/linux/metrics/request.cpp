#include "linux/metrics/request.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "linux/metrics/write_text.h"

namespace fathom::metrics {
namespace {

bool is_token(std::string_view text) {
  static constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != kOthers.npos;
  });
}

bool parse_request_line(std::string_view line, Request& request) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || last == first) return false;
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.0" && version != "HTTP/1.1") return false;
  request.version_minor = version.back() - '0';
  return is_token(request.method) && !request.target.empty() &&
         std::all_of(request.target.begin(), request.target.end(),
                     [](char c) { return c > ' ' && c < 0x7f; });
}

bool parse_header(std::string_view line, Request& request) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon))) return false;
  const std::string name = lower_case(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1), " \t");
  if (std::any_of(value.begin(), value.end(),
                  [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; }))
    return false;
  if (name == "host") {
    if (request.has_host) return false;  // two of them: ambiguous
    request.has_host = true;
    request.host = value;
  } else if (name == "authorization") {
    if (!request.authorization.empty()) return false;
    request.authorization = value;
  } else if (name == "accept") {
    if (!request.accept.empty()) request.accept += ",";
    request.accept += value;
  }
  return true;
}

// A client that may open a socket's file, or shows a secret token, is authorized.
bool is_meant_for(const Request& request, const Policy& policy) {
  return policy.address.is_unix() || !policy.address.is_loopback() || names_loopback(request);
}

bool shows_token(const Request& request, const Policy& policy) {
  if (policy.token.empty()) return true;
  static constexpr std::string_view kScheme = "bearer ";
  const std::string_view given = request.authorization;
  if (lower_case(given.substr(0, kScheme.size())) != kScheme) return false;
  return equal_in_constant_time(trimmed(given.substr(kScheme.size()), " \t"), policy.token);
}

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    default:
      return "Service Unavailable";
  }
}

}  // namespace

Answer make_answer(int status, std::string_view type, std::string_view body, bool with_body,
                   std::string_view headers) {
  return {
      status,
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Cache-Control: no-store\r\n"
                  "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{}",
                  status, reason(status), type, body.size(), headers, with_body ? body : "")};
}

// A lone newline ends a line, too (RFC 9112, 2.2).
Parsed RequestReader::take_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty())
    return has_request_line_ ? Parsed::kWhole : Parsed::kIncomplete;  // before it they are nothing
  const bool is_good = has_request_line_ ? parse_header(line, request_) : parse_request_line(line, request_);
  has_request_line_ = true;
  return is_good ? Parsed::kIncomplete : Parsed::kMalformed;
}

Parsed RequestReader::feed(std::string_view bytes) {
  bytes = bytes.substr(0, kMostRequestBytes - bytes_);
  bytes_ += bytes.size();
  while (state_ == Parsed::kIncomplete) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (end == bytes.npos) break;
    bytes.remove_prefix(end + 1);
    state_ = take_line(line_);
    line_.clear();
  }
  if (state_ == Parsed::kIncomplete && bytes_ >= kMostRequestBytes) state_ = Parsed::kTooLong;
  return state_;
}

Parsed parse_request(std::string_view bytes, Request& request) {
  RequestReader reader;
  const Parsed parsed = reader.feed(bytes);
  request = reader.request();
  return parsed;
}

// A page that a browser has loaded from elsewhere can have its name resolved to the loopback address; its requests then
// still carry that name.
bool names_loopback(const Request& request) {
  if (!request.has_host) return request.version_minor == 0;
  std::string_view host = request.host;
  if (const std::size_t end = host.find_last_of(":]"); end != host.npos && host[end] == ':') {
    if (host.find_first_not_of("0123456789", end + 1) != host.npos) return false;  // no port
    host = host.substr(0, end);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (lower_case(host) == "localhost") return true;
  Address named;
  named.host = host;
  return named.is_loopback();
}

Answer refusal(int status) {
  std::string_view headers;
  if (status == 401) headers = "WWW-Authenticate: Bearer\r\n";
  if (status == 405) headers = "Allow: GET, HEAD\r\n";
  return make_answer(status, "text/plain; charset=utf-8", fmt::format("{}\n", reason(status)), true, headers);
}

std::optional<Answer> refusal_of(const Request& request, const Policy& policy) {
  if (!is_meant_for(request, policy)) return refusal(request.has_host ? 421 : 400);
  if (!shows_token(request, policy)) return refusal(401);
  if (request.method != "GET" && request.method != "HEAD") return refusal(405);
  return std::nullopt;
}

Answer answer(const Request& request, const Policy& policy, const std::vector<Family>* families) {
  if (auto refused = refusal_of(request, policy)) return std::move(*refused);
  const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  const bool with_body = request.method == "GET";
  if (path == "/")
    return make_answer(200, "text/plain; charset=utf-8", "fathom watch: the metrics are at /metrics\n",
                       with_body);
  if (path != "/metrics") return refusal(404);
  if (families == nullptr) return refusal(503);
  const Format format = choose_format(request.accept);
  return make_answer(200, content_type(format), write_text(*families, format), with_body);
}

}  // namespace fathom::metrics
