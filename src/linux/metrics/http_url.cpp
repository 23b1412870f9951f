#include "linux/metrics/http_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/parse.h"
#include "base/text.h"
#include "linux/metrics/address.h"

namespace fathom::metrics {
namespace {

bool is_printable_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// A name of DNS, or an address of version 4. A name that began with '-' would be an option of a program.
bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '-' && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
                  c == '_';
         });
}

bool is_version_6(const std::string& host) {
  sockaddr_storage storage;
  socklen_t size = 0;
  return host.find(':') != std::string::npos && Address{"", host, 1}.fill(storage, size);
}

tl::unexpected<Error> no_url(std::string_view text, std::string_view why) {
  return fail(ErrorKind::kUsage, fmt::format("'{}': {}", without_secrets(text), why),
              "http://HOST:PORT/PATH, or https://");
}

}  // namespace

std::string HttpUrl::authority() const {
  if (!socket.empty()) return "localhost";
  return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port)
                                             : fmt::format("{}:{}", host, port);
}

std::string HttpUrl::text() const {
  if (!socket.empty()) return "unix:" + socket;
  return fmt::format("{}://{}{}", tls ? "https" : "http", authority(), target.substr(0, target.find('?')));
}

Result<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  if (text.starts_with("unix:")) {
    auto address = parse_address(text);
    if (!address) return tl::unexpected<Error>(address.error());
    url.socket = std::move(address->path);
    return url;
  }
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return no_url(text, "the address must begin with http:// or https://");
  }
  if (!is_printable_word(rest)) return no_url(text, "an address has no blanks or special characters");
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, end);
  url.target = rest.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, 1, '/');
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
    const std::string_view login = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    const std::size_t colon = std::min(login.find(':'), login.size());
    if (!percent_decode(login.substr(0, colon), url.user) ||
        !percent_decode(login.substr(std::min(colon + 1, login.size())), url.password))
      return no_url(text, "'%' in a user or password must be written as %25");
  }
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == authority.npos) return no_url(text, "']' is missing");
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (authority.starts_with('[') ? !is_version_6(url.host) : !is_host_name(url.host))
    return no_url(text, "it names no host");
  url.port = url.tls ? 443 : 80;
  if (!port.empty()) {
    url.port = parse_number<std::uint16_t>(port.substr(1)).value_or(0);
    if (port.front() != ':' || url.port == 0)
      return no_url(text, "the port must be a number from 1 to 65535");
  }
  return url;
}

std::string without_secrets(std::string_view text) {
  const std::size_t scheme = text.find("://");
  const std::size_t start = scheme == text.npos ? 0 : scheme + 3, at = text.rfind('@');
  if (at == text.npos || at < start) return std::string(text);
  return fmt::format("{}***{}", text.substr(0, start), text.substr(at));
}

Result<> for_each_parameter(
    std::string_view query, std::string_view form,
    const std::function<Result<>(const std::string& key, const std::string& value)>& take) {
  while (!query.empty()) {
    const std::string_view pair = take_until(query, '&');
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::string key, value;
    if (!percent_decode(pair.substr(0, equals), key) ||
        !percent_decode(pair.substr(std::min(equals + 1, pair.size())), value))
      return fail(ErrorKind::kUsage, fmt::format("'{}': '%' must be written as %25", pair),
                  std::string(form));
    if (Result<> taken = take(key, value); !taken) return taken;
  }
  return {};
}

bool percent_decode(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3 || !is_hex_digit(text[i + 1]) || !is_hex_digit(text[i + 2])) return false;
    unsigned value = 0;
    std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
    out += static_cast<char>(value);
    i += 2;
  }
  return true;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
        std::string_view("-._~").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace fathom::metrics
