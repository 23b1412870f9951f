#include "tools/push/parca.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/push/profile_server.h"

namespace fathom::push {
namespace {

class Parca final : public ProfileServer {
 public:
  Parca(metrics::HttpUrl url, int stop) : ProfileServer(std::move(url), stop) {}

 private:
  Result<metrics::HttpRequest> request(const ServerProfile& profile, const Labels& labels,
                                       const std::string& part) const override {
    const Result<std::string> packed = gzip(part);
    if (!packed) return tl::unexpected(packed.error());
    metrics::HttpRequest message;
    message.url.target = "/api/profiles/writeraw";
    message.headers = {{"Content-Type", "application/json"}};
    message.body = parca_write(profile, labels, *packed);
    return message;
  }
};

}  // namespace

std::string parca_write(const ServerProfile& profile, const Labels& labels, std::string_view packed) {
  using nlohmann::json;
  json names = json::array();
  for (const auto& [name, value] : server_labels(labels, profile.name))
    names.push_back(json::object({{"name", name}, {"value", value}}));
  json series = json::object();
  series["labels"]["labels"] = std::move(names);
  series["samples"] = json::array({json::object({{"rawProfile", metrics::base64(packed)}})});
  json request = json::object();
  request["normalized"] = true;  // addresses are those of the files
  request["series"] = json::array({std::move(series)});
  return request.dump();
}

Result<std::unique_ptr<Destination>> parca_destination(std::string_view url, int stop) {
  Result<metrics::HttpUrl> parsed = parse_server_url(url, "parca", 7070);
  if (!parsed) return tl::unexpected(parsed.error());
  return std::make_unique<Parca>(std::move(*parsed), stop);
}

}  // namespace fathom::push
