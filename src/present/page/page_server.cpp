#include "present/page/page_server.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/parse.h"
#include "present/page/html.h"

namespace fathom::page {
namespace {

// `policy`: of pages alone.
metrics::Answer answer_with(std::string_view type, std::string_view policy, std::string_view body,
                            bool with_body) {
  return {200,
          fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n"
                      "Content-Security-Policy: {}; frame-ancestors 'none'\r\nCache-Control: no-store\r\n"
                      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                      "Cross-Origin-Resource-Policy: same-origin\r\n"
                      "Connection: close\r\n\r\n{}",
                      type, body.size(), policy, with_body ? body : std::string_view())};
}

int digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (escaped) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
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

std::vector<std::pair<std::string, std::string>> query_words(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> words;
  while (!query.empty()) {
    const std::string_view word = take_until(query, '&');
    const std::size_t sign = std::min(word.find('='), word.size());
    if (!word.empty())
      words.emplace_back(decoded(word.substr(0, sign)),
                         decoded(word.substr(std::min(word.size(), sign + 1))));
  }
  return words;
}

metrics::Answer answer(const metrics::Request& request, const Shown& shown) {
  if (!metrics::names_loopback(request)) return metrics::refusal(request.has_host ? 421 : 400);
  if (request.method != "GET" && request.method != "HEAD") return metrics::refusal(405);
  std::string_view path = request.target;
  std::string_view query;
  if (const std::size_t mark = path.find('?'); mark != path.npos) {
    query = path.substr(mark + 1);
    path = path.substr(0, mark);
  }
  if (!path.starts_with('/')) return metrics::refusal(404);
  path.remove_prefix(1);
  constexpr std::string_view kCode = "/code";
  const bool asks_code = shown.code && path.ends_with(kCode);
  if (asks_code) path.remove_suffix(kCode.size());
  const bool is_folder = !asks_code && path.ends_with('/');
  if (is_folder) path.remove_suffix(1);
  if (!metrics::equal_in_constant_time(path, shown.token)) return metrics::refusal(404);
  const bool with_body = request.method == "GET";
  if (asks_code) return answer_with("application/json", "default-src 'none'", shown.code(query), with_body);
  const std::string policy = content_security_policy(static_cast<bool>(shown.code));
  if (shown.page && !query.empty()) return answer_with("text/html", policy, shown.page(query), with_body);
  return answer_with("text/html", policy, shown.html, with_body);
}

Result<std::unique_ptr<PageServer>> PageServer::open(std::string html, std::uint16_t port, Query code,
                                                     Query page) {
  Result<std::string> token = make_token();
  if (!token) return tl::unexpected(token.error());
  metrics::ServerOptions options;
  options.address.host = "127.0.0.1";
  options.address.port = port;
  // A page of some megabytes may come through a slow tunnel.
  options.deadline_ns = 60'000'000'000;
  options.handler = [shown = Shown{std::move(html), *token, std::move(code), std::move(page)}](
                        const metrics::Request& request) { return answer(request, shown); };
  auto server = metrics::Server::open(std::move(options));
  if (!server) return tl::unexpected(server.error());
  return std::unique_ptr<PageServer>(new PageServer(std::move(*server), std::move(*token)));
}

std::string PageServer::url() const {
  return fmt::format("http://127.0.0.1:{}/{}/", port(), token_);
}

}  // namespace fathom::page
