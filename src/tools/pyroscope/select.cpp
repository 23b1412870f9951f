#include "tools/pyroscope/select.h"

#include <fmt/format.h>

#include "analysis/core/words.h"
#include "base/clock.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/wire.h"
#include "linux/metrics/http_client.h"
#include "model/facts.h"
#include "present/exports/wire_writer.h"
#include "tools/push/profile_server.h"

namespace fathom::pyroscope {
namespace {

constexpr std::uint64_t kMilliNs = 1'000'000, kAnswerNs = 120'000'000'000;
constexpr std::size_t kMostBytes = std::size_t{1} << 30, kLongestMessage = 300;
// The most that servers allow by default. Fewer, and small branches would be merged into one named "other".
constexpr std::uint64_t kMostNodes = 1 << 20;

Error answer_error(const Query& query, int status, std::string_view body) {
  const std::string message = fmt::format("{} answers {}: {}", query.server.text(), status,
                                          analysis::printable(body.substr(0, kLongestMessage)));
  if (status == 401 || status == 403)
    return {
        ErrorKind::kPermission, message,
        "PYROSCOPE_USER and PYROSCOPE_PASSWORD, or FATHOM_BEARER_TOKEN, in the environment; tenant=NAME for a server with several"};
  if (status == 429 || status >= 500) return {ErrorKind::kSystem, message, "a shorter time"};
  return {ErrorKind::kUsage, message, ""};
}

// A profile of nothing has its types at most.
bool is_empty_profile(std::string_view bytes) {
  formats::WireFields fields(bytes);
  while (fields.next())
    if (fields.number() == 2) return false;
  return fields.ok();
}

}  // namespace

std::string select_request(const Query& query, std::uint64_t from_unix_ns, std::uint64_t until_unix_ns) {
  return present::WireWriter()
      .bytes(1, query.type)
      .bytes(2, query.selector)
      .number(3, from_unix_ns / kMilliNs)
      .number(4, until_unix_ns / kMilliNs)
      .number(5, kMostNodes)
      .take();
}

Result<model::Profile> select_profile(const Query& query, std::uint64_t from_unix_ns,
                                      std::uint64_t until_unix_ns, int stop) {
  metrics::HttpRequest request;
  request.url = query.server;
  request.url.target += "/querier.v1.QuerierService/SelectMergeProfile";
  request.method = "POST";
  request.headers = {{"Content-Type", "application/proto"}, {"Connect-Protocol-Version", "1"}};
  if (!query.tenant.empty()) request.headers.emplace_back("X-Scope-OrgID", query.tenant);
  if (auto token = push::bearer_token(query.server)) request.headers.push_back(std::move(*token));
  request.body = select_request(query, from_unix_ns, until_unix_ns);
  const auto reply = metrics::http_request(request, monotonic_ns() + kAnswerNs, stop, {64 << 10, kMostBytes});
  if (!reply) return tl::unexpected<Error>(reply.error());
  if (reply->status != 200) return tl::unexpected<Error>(answer_error(query, reply->status, reply->body));
  const std::string place = request.url.text();
  if (is_empty_profile(reply->body))
    return fail(
        ErrorKind::kNotFound,
        fmt::format("{}: no profile of {}{} in this time", query.server.text(), query.type, query.selector),
        "another from= and until=, or another service= or query=");
  auto profile = formats::read_pprof(reply->body, place);
  if (!profile) return profile;
  profile->meta.target = query.selector;
  profile->meta.start_unix_ns = from_unix_ns;
  profile->meta.facts["format"] = "Pyroscope";
  return profile;
}

}  // namespace fathom::pyroscope
