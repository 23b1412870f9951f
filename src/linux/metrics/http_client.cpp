#include "linux/metrics/http_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "linux/metrics/helper_program.h"
#include "linux/metrics/host_addresses.h"
#include "linux/metrics/http_exchange.h"

namespace fathom::metrics {
namespace {

// RFC 9110: what the name of a header or a method may have.
bool is_http_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// A value with a line break would be a header, or a request, of its own.
bool is_http_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

using Headers = std::vector<std::pair<std::string, std::string>>;

Result<Headers> headers_of(const HttpRequest& request) {
  const std::string name = request.url.text();
  if (!is_http_token(request.method) || !std::all_of(request.url.target.begin(), request.url.target.end(),
                                                     [](char c) { return c > ' ' && c < 0x7f; }))
    return fail(ErrorKind::kUsage, fmt::format("{}: the method or path is not valid in HTTP", name));
  Headers headers{{"User-Agent", "fathom"}, {"Accept-Encoding", "gzip"}};
  if (!request.url.user.empty() || !request.url.password.empty())
    headers.emplace_back("Authorization", "Basic " + base64(request.url.user + ":" + request.url.password));
  for (const auto& header : request.headers) {
    if (!is_http_token(header.first) || !is_http_value(header.second))
      return fail(ErrorKind::kUsage,
                  fmt::format("{}: a header has characters that HTTP does not allow", name));
    headers.push_back(header);
  }
  return headers;
}

Result<HttpResponse> send_plain(const HttpRequest& request, const Headers& headers, std::uint64_t deadline_ns,
                                int stop, HttpBounds bounds) {
  const std::string name = request.url.text();
  std::string bytes = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", request.method,
                                  request.url.target, request.url.authority());
  if (!request.body.empty() || request.method != "GET")
    bytes += fmt::format("Content-Length: {}\r\n", request.body.size());
  for (const auto& [key, value] : headers) bytes += fmt::format("{}: {}\r\n", key, value);
  bytes += "\r\n";
  bytes += request.body;
  if (!request.url.socket.empty())
    return http_exchange({request.url.socket, "", 0}, name, bytes, deadline_ns, stop, bounds);
  const auto addresses = addresses_of_host(request.url.host, request.url.port, deadline_ns, stop);
  if (!addresses) return tl::unexpected<Error>(addresses.error());
  // The next address is tried only if there was no connection: a request that arrived is not sent twice.
  for (std::size_t i = 0; i + 1 < addresses->size(); ++i) {
    const std::uint64_t until = connect_deadline_ns(monotonic_ns(), deadline_ns, addresses->size() - i);
    if (can_connect((*addresses)[i], until, stop))
      return http_exchange((*addresses)[i], name, bytes, deadline_ns, stop, bounds);
  }
  return http_exchange(addresses->back(), name, bytes, deadline_ns, stop, bounds);
}

// A value in a configuration of curl.
std::string curl_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// curl writes the answer as it came, head included, so that one parser with one set of bounds reads both ways.
HelperProgram curl_program(const HttpRequest& request, const Headers& headers, std::uint64_t deadline_ns) {
  const std::uint64_t now = monotonic_ns();
  std::string config =
      "http1.1\nraw\ninclude\nsilent\nshow-error\ngloboff\npath-as-is\nsuppress-connect-headers\nproto = \"=https\"\n";
  config += fmt::format(
      "url = {}\n", curl_quoted(fmt::format("https://{}{}", request.url.authority(), request.url.target)));
  config +=
      fmt::format("max-time = {:.3f}\n",
                  std::max(0.001, deadline_ns > now ? static_cast<double>(deadline_ns - now) / 1e9 : 0));
  if (!request.body.empty() || request.method != "GET")
    config +=
        fmt::format("data-binary = {}\nheader = \"Expect:\"\n", curl_quoted(std::string("@") + kHelperFile));
  config += fmt::format("request = {}\n", curl_quoted(request.method));
  bool has_type = false;
  for (const auto& [key, value] : headers) {
    has_type = has_type || lower_case(key) == "content-type";
    // "Name;" is curl's way to write a header without a value.
    config += fmt::format("header = {}\n",
                          curl_quoted(value.empty() ? key + ";" : fmt::format("{}: {}", key, value)));
  }
  if (!has_type) config += "header = \"Content-Type:\"\n";  // curl would call the body a form
  return {{"curl", "-q", "--config", "-"}, std::move(config), request.body};
}

// "curl: (60) SSL certificate problem: ...": the line with the reason; advice may follow it.
std::string reason_of_curl(std::string_view words) {
  std::string_view line;
  while (!words.empty() && !line.starts_with("curl: (")) line = take_line(words);
  return line.empty() ? "curl failed" : std::string(line);
}

Result<HttpResponse> send_with_curl(const HttpRequest& request, const Headers& headers,
                                    std::uint64_t deadline_ns, int stop, HttpBounds bounds) {
  const std::string name = request.url.text();
  HttpResponse response(bounds);
  const auto end = run_helper(
      curl_program(request, headers, deadline_ns), deadline_ns, stop,
      [&](std::string_view piece) { return response.feed(piece) == HttpResponse::State::kIncomplete; });
  if (!end && end.error().kind == ErrorKind::kNotFound)
    return fail(ErrorKind::kNotFound,
                fmt::format("{}: https:// needs the program curl, which is not installed", name),
                "apt-get install curl, or an address with http://");
  if (!end) return within(name, end.error());
  if (response.state() == HttpResponse::State::kIncomplete) {
    if (end->status == 28) return fail(ErrorKind::kSystem, fmt::format("{}: no answer in time", name));
    if (end->status != 0) {
      // 35, 51, 58, 60, 77: the certificate or TLS itself. Trying again does not help.
      const bool certificate = end->status == 35 || end->status == 51 || end->status == 58 ||
                               end->status == 60 || end->status == 77;
      return fail(certificate ? ErrorKind::kPermission : ErrorKind::kSystem,
                  fmt::format("{}: {}", name, reason_of_curl(end->messages)),
                  certificate ? "CURL_CA_BUNDLE=FILE, with the certificate that signed the server's" : "");
    }
    response.end();
  }
  if (const auto whole = check_whole(response, name, bounds); !whole)
    return tl::unexpected<Error>(whole.error());
  return response;
}

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

Result<HttpReply> http_request(const HttpRequest& request, std::uint64_t deadline_ns, int stop,
                               HttpBounds bounds) {
  const auto headers = headers_of(request);
  if (!headers) return tl::unexpected<Error>(headers.error());
  const auto response = request.url.tls ? send_with_curl(request, *headers, deadline_ns, stop, bounds)
                                        : send_plain(request, *headers, deadline_ns, stop, bounds);
  if (!response) return tl::unexpected<Error>(response.error());
  auto body = unpacked_body(*response, request.url.text(), bounds);
  if (!body) return tl::unexpected<Error>(body.error());
  return HttpReply{response->status(), response->content_type(), response->headers(), std::move(*body)};
}

}  // namespace fathom::metrics
