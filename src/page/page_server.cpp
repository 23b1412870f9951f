#include "page/page_server.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "page/html.h"

namespace fathom::page {
namespace {

metrics::Answer page_of(const Shown& shown, bool with_body) {
  return {200,
          fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n"
                      "Content-Security-Policy: {}; frame-ancestors 'none'\r\nCache-Control: no-store\r\n"
                      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                      "Cross-Origin-Resource-Policy: same-origin\r\n"
                      "Connection: close\r\n\r\n{}",
                      shown.html.size(), content_security_policy(),
                      with_body ? std::string_view(shown.html) : std::string_view())};
}

}  // namespace

Result<std::string> make_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(ErrorKind::kSystem, fmt::format("getrandom: {}", std::strerror(errno)));
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

metrics::Answer answer(const metrics::Request& request, const Shown& shown) {
  if (!metrics::names_loopback(request)) return metrics::refusal(request.has_host ? 421 : 400);
  if (request.method != "GET" && request.method != "HEAD") return metrics::refusal(405);
  std::string_view path = request.target;
  path = path.substr(0, path.find('?'));
  if (!path.starts_with('/')) return metrics::refusal(404);
  path.remove_prefix(1);
  const bool is_folder = path.ends_with('/');
  if (is_folder) path.remove_suffix(1);
  if (!metrics::equal_in_constant_time(path, shown.token)) return metrics::refusal(404);
  return page_of(shown, request.method == "GET");
}

Result<std::unique_ptr<PageServer>> PageServer::open(std::string html, std::uint16_t port) {
  Result<std::string> token = make_token();
  if (!token) return tl::unexpected(token.error());
  metrics::ServerOptions options;
  options.address.host = "127.0.0.1";
  options.address.port = port;
  // A page of some megabytes may come through a slow tunnel.
  options.deadline_ns = 60'000'000'000;
  options.handler = [shown = Shown{std::move(html), *token}](const metrics::Request& request) {
    return answer(request, shown);
  };
  auto server = metrics::Server::open(std::move(options));
  if (!server) return tl::unexpected(server.error());
  return std::unique_ptr<PageServer>(new PageServer(std::move(*server), std::move(*token)));
}

std::string PageServer::url() const {
  return fmt::format("http://127.0.0.1:{}/{}/", port(), token_);
}

}  // namespace fathom::page
