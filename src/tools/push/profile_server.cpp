#include "tools/push/profile_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "analysis/core/words.h"
#include "base/clock.h"
#include "linux/metrics/login.h"

namespace fathom::push {
namespace {

constexpr std::size_t kLongestValue = 2048;
constexpr std::size_t kLongestAnswer = 300;  // of what a server says, in an error
constexpr std::uint64_t kAnswerTime = 30'000'000'000;

// Cut in front of a character, not inside of one.
std::string label_value(std::string_view raw) {
  std::string text = analysis::printable(raw);
  if (text.size() <= kLongestValue) return text;
  std::size_t end = kLongestValue;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text;
}

// Nothing where the answer is a success. Too many requests, and errors of the server's own, may pass.
Result<> check_answer(const metrics::HttpUrl& url, const metrics::HttpReply& reply) {
  if (reply.status >= 200 && reply.status < 300) return {};
  const bool may_pass = reply.status == 429 || reply.status >= 500;
  return fail(
      may_pass ? ErrorKind::kSystem : ErrorKind::kUsage,
      fmt::format("{} answers {}: {}", url.text(), reply.status,
                  analysis::printable(std::string_view(reply.body).substr(0, kLongestAnswer))),
      reply.status == 401 || reply.status == 403
          ? "USER@ in the address and the password in PYROSCOPE_PASSWORD or PARCA_PASSWORD, or FATHOM_BEARER_TOKEN"
          : "");
}

Result<> check_age(const model::Profile& profile, std::uint64_t oldest_ns) {
  const std::uint64_t began = profile.meta.start_unix_ns, now = wall_clock_ns();
  if (began == 0 || began >= now || now - began <= oldest_ns) return {};
  return fail(ErrorKind::kUsage,
              fmt::format("the recording began {} ago, and the server takes only those of the last {}",
                          analysis::seconds(static_cast<double>(now - began) * 1e-9),
                          analysis::seconds(static_cast<double>(oldest_ns) * 1e-9)));
}

}  // namespace

bool is_server_url(std::string_view text, std::string_view scheme) {
  if (!text.starts_with(scheme)) return false;
  const std::string_view rest = text.substr(scheme.size());
  return rest.starts_with("://") || rest.starts_with("+https://");
}

Result<metrics::HttpUrl> parse_server_url(std::string_view text, std::string_view scheme,
                                          std::uint16_t port) {
  std::string_view rest = text.substr(std::min(scheme.size(), text.size()));
  const bool tls = rest.starts_with("+https");
  if (tls) rest.remove_prefix(6);
  rest.remove_prefix(std::min<std::size_t>(3, rest.size()));  // "://"
  std::string authority(rest.substr(0, rest.find_first_of("/?")));
  const std::string path(rest.substr(authority.size()));
  const std::size_t host = authority.rfind('@') == std::string::npos ? 0 : authority.rfind('@') + 1;
  const std::size_t bracket = authority.find(']', host);
  const std::size_t colon = authority.find(':', bracket == std::string::npos ? host : bracket);
  // With TLS a proxy is in front of the server, which listens where proxies do.
  if (colon == std::string::npos && !tls) authority += fmt::format(":{}", port);
  Result<metrics::HttpUrl> url = metrics::parse_http_url((tls ? "https://" : "http://") + authority + path);
  if (!url) return url;
  while (url->target.ends_with('/')) url->target.pop_back();
  std::string prefix;
  for (const char c : scheme) prefix += static_cast<char>(c - 'a' + 'A');
  metrics::add_login(*url, prefix);
  return url;
}

std::optional<std::pair<std::string, std::string>> bearer_token(const metrics::HttpUrl& url) {
  const char* token = std::getenv("FATHOM_BEARER_TOKEN");
  if (token == nullptr || *token == '\0' || !url.user.empty() || !url.password.empty()) return std::nullopt;
  return std::pair<std::string, std::string>("Authorization", std::string("Bearer ") + token);
}

LabelPairs server_labels(const Labels& labels, const std::string& profile_name) {
  LabelPairs pairs = {{"__name__", profile_name},
                      {"service_name", label_value(labels.service.empty() ? "unknown" : labels.service)}};
  if (!labels.host.empty()) pairs.emplace_back("host", label_value(labels.host));
  if (!labels.version.empty()) pairs.emplace_back("version", label_value(labels.version));
  return pairs;
}

Result<Sent> ProfileServer::send(const model::Profile& profile, const Labels& labels) {
  if (const Result<> young = check_age(profile, oldest_ns()); !young) return tl::unexpected(young.error());
  const Result<std::vector<ServerProfile>> profiles = server_profiles(profile);
  if (!profiles) return tl::unexpected(profiles.error());
  Sent sent;
  for (const ServerProfile& one : *profiles)
    for (const std::string& part : one.parts) {
      Result<metrics::HttpRequest> made = request(one, labels, part);
      if (!made) return tl::unexpected(made.error());
      metrics::HttpRequest& message = *made;
      const std::string path = message.url.target;
      message.url = url_;
      message.url.target += path;
      message.method = "POST";
      if (auto token = bearer_token(url_)) message.headers.push_back(std::move(*token));
      const std::size_t hash = std::hash<std::string_view>{}(message.body);
      ++sent.parts;
      sent.bytes += message.body.size();
      if (answered_.contains(hash)) continue;
      const Result<metrics::HttpReply> reply =
          metrics::http_request(message, monotonic_ns() + kAnswerTime, stop_);
      if (!reply) return tl::unexpected(reply.error());
      if (const Result<> taken = check_answer(message.url, *reply); !taken)
        return tl::unexpected(taken.error());
      if (const Result<> taken = check_body(reply->body); !taken)
        return within(message.url.text(), taken.error());
      answered_.insert(hash);
    }
  answered_.clear();
  return sent;
}

}  // namespace fathom::push
