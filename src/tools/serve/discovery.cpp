#include "tools/serve/discovery.h"

#include <nlohmann/json.hpp>

namespace fathom::serve {

std::string discovery_json(const std::vector<std::string>& targets, std::string_view host,
                           const metrics::Address& address) {
  const std::string at = host.empty() ? address.to_string() : std::string(host);
  nlohmann::json groups = nlohmann::json::array();
  for (const std::string& target : targets) {
    const std::string prefix = "/p/" + target;
    groups.push_back({{"targets", {at}},
                      {"labels",
                       {{"service_name", target},
                        {"__metrics_path__", prefix + "/metrics"},
                        {"__profile_path_prefix__", prefix}}}});
  }
  return groups.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace fathom::serve
