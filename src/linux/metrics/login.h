// User and password of a server from the environment, where its address has none: addresses are in the list of processes.
#pragma once

#include <string>

#include "linux/metrics/http_url.h"

namespace fathom::metrics {

// Completes `url` with the variables PREFIX_USER and PREFIX_PASSWORD. An address with a password stays as it is. The user
// of a password that comes without one is `default_user`.
void add_login(HttpUrl& url, const std::string& prefix, const std::string& default_user = {});

}  // namespace fathom::metrics
