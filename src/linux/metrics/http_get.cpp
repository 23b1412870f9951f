#include "linux/metrics/http_get.h"

#include <fmt/format.h>

#include <algorithm>

#include "linux/metrics/http_exchange.h"

namespace fathom::metrics {
Result<Url> parse_url(std::string_view text) {
  const std::string remedy = "http://127.0.0.1:9001/metrics";
  Url url;
  url.text = text;
  if (text.starts_with("unix:")) {
    auto address = parse_address(text);
    if (!address) return tl::unexpected<Error>(address.error());
    url.address = std::move(*address);
    url.target = "/metrics";
    return url;
  }
  std::string_view rest = text;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.find("://") != rest.npos) {
    return fail(ErrorKind::kUsage, fmt::format("'{}': only http:// is supported", text), remedy);
  }
  const std::size_t slash = rest.find('/');
  std::string authority(rest.substr(0, slash));
  url.target = slash == rest.npos ? "/metrics" : rest.substr(slash, rest.find('#') - slash);
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string::npos || authority.ends_with(']')) authority += ":80";
  auto address = parse_address(authority);
  const bool printable =
      std::all_of(url.target.begin(), url.target.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!address || address->is_unix() || address->port == 0 || !printable)
    return fail(ErrorKind::kUsage,
                fmt::format("'{}' is not an address of metrics; names of hosts are not looked up", text),
                remedy);
  url.address = std::move(*address);
  return url;
}

Result<Fetched> http_get(const Url& url, std::uint64_t deadline_ns, int stop, std::string_view accept,
                         HttpBounds bounds) {
  const std::string request = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: fathom\r\nAccept: {}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n",
      url.target, url.address.is_unix() ? "localhost" : url.address.to_string(), accept);
  const auto response = http_exchange(url.address, url.text, request, deadline_ns, stop, bounds);
  if (!response) return tl::unexpected<Error>(response.error());
  auto body = unpacked_body(*response, url.text, bounds);
  if (!body) return tl::unexpected<Error>(body.error());
  return Fetched{response->status(), response->content_type(), std::move(*body)};
}

}  // namespace fathom::metrics
