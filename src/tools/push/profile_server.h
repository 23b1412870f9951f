// What servers of profiles have in common: their URLs and labels, and one request for each part of each profile.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "linux/metrics/http_client.h"
#include "model/profile.h"
#include "tools/push/destination.h"
#include "tools/push/server_profiles.h"

namespace fathom::push {

// True for "SCHEME://..." and "SCHEME+https://...".
bool is_server_url(std::string_view text, std::string_view scheme);
// "SCHEME://HOST[:PORT][/PATH]" as http, "SCHEME+https://" as https. `port` is that of http where the URL has none. The target is
// PATH without '/' at its end: the path of a request is appended to it. User and password default to the variables SCHEME_USER and
// SCHEME_PASSWORD, in capitals. `scheme`: lower-case letters. kUsage as of parse_http_url().
Result<metrics::HttpUrl> parse_server_url(std::string_view text, std::string_view scheme, std::uint16_t port);

using LabelPairs = std::vector<std::pair<std::string, std::string>>;
// Names and values as servers take them: at most 2,048 bytes of valid UTF-8, none of them empty; service_name is always there.
LabelPairs server_labels(const Labels& labels, const std::string& profile_name);

// "Authorization: Bearer" from the environment variable FATHOM_BEARER_TOKEN, unless the URL has a user or password.
std::optional<std::pair<std::string, std::string>> bearer_token(const metrics::HttpUrl& url);

class ProfileServer : public Destination {
 public:
  // Servers add up what they receive. So a send() that follows a failed one leaves out the requests that were answered; it must be
  // of the same recording. kUsage: refused, with the server's words, or older than the server takes.
  Result<Sent> send(const model::Profile& profile, const Labels& labels) override;

 protected:
  // `stop`: a descriptor that becomes readable when answers are no longer needed; -1: none.
  ProfileServer(metrics::HttpUrl url, int stop) : url_(std::move(url)), stop_(stop) {}
  // Without method and URL but for what is appended to its target. `part`: one of the profile's, not packed.
  virtual Result<metrics::HttpRequest> request(const ServerProfile& profile, const Labels& labels,
                                               const std::string& part) const = 0;
  // What a successful answer still says against the request. kUsage: it took none or only some of it.
  virtual Result<> check_body(const std::string&) const { return {}; }
  virtual std::uint64_t oldest_ns() const { return UINT64_MAX; }  // what began earlier is refused

 private:
  metrics::HttpUrl url_;
  int stop_;
  std::set<std::size_t> answered_;  // hashes of bodies
};

}  // namespace fathom::push
