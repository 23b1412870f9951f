// The answer to /sd: targets as Prometheus' HTTP service discovery takes them, with the labels by which Alloy finds their profiles.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linux/metrics/address.h"

namespace fathom::serve {

// `host`: that of the request, since it is known to reach this endpoint; empty: the address that is listened on.
std::string discovery_json(const std::vector<std::string>& targets, std::string_view host,
                           const metrics::Address& address);

}  // namespace fathom::serve
