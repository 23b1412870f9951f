#include "tools/push/pyroscope.h"

#include <utility>

#include "present/exports/wire_writer.h"
#include "tools/push/profile_server.h"

namespace fathom::push {
namespace {

// The server refuses what is older than an hour, and the request takes some time.
constexpr std::uint64_t kPyroscopeOldest = 55ULL * 60 * 1'000'000'000;

class Pyroscope final : public ProfileServer {
 public:
  Pyroscope(metrics::HttpUrl url, std::string tenant, int stop)
      : ProfileServer(std::move(url), stop), tenant_(std::move(tenant)) {}

 private:
  Result<metrics::HttpRequest> request(const ServerProfile& profile, const Labels& labels,
                                       const std::string& part) const override {
    const Result<std::string> packed = gzip(part);
    if (!packed) return tl::unexpected(packed.error());
    metrics::HttpRequest message;
    message.url.target = "/push.v1.PusherService/Push";
    message.headers = {{"Content-Type", "application/proto"}, {"Connect-Protocol-Version", "1"}};
    if (!tenant_.empty()) message.headers.emplace_back("X-Scope-OrgID", tenant_);
    message.body = pyroscope_push(profile, labels, *packed);
    return message;
  }
  std::uint64_t oldest_ns() const override { return kPyroscopeOldest; }

  std::string tenant_;
};

}  // namespace

std::string pyroscope_push(const ServerProfile& profile, const Labels& labels, std::string_view packed) {
  using present::WireWriter;
  LabelPairs pairs = server_labels(labels, profile.name);
  // Else the server subtracts each profile of the heap from the one before, as Go's own ones count from the start.
  pairs.emplace_back("__delta__", "false");
  WireWriter series;
  for (const auto& [name, value] : pairs) series.message(1, WireWriter().bytes(1, name).bytes(2, value));
  series.message(2, WireWriter().bytes(1, packed));
  return WireWriter().message(1, series).take();
}

Result<std::unique_ptr<Destination>> pyroscope_destination(std::string_view url, std::string tenant,
                                                           int stop) {
  Result<metrics::HttpUrl> parsed = parse_server_url(url, "pyroscope", 4040);
  if (!parsed) return tl::unexpected(parsed.error());
  return std::make_unique<Pyroscope>(std::move(*parsed), std::move(tenant), stop);
}

}  // namespace fathom::push
