#include "linux/metrics/login.h"

#include <cstdlib>

namespace fathom::metrics {

void add_login(HttpUrl& url, const std::string& prefix, const std::string& default_user) {
  if (!url.password.empty()) return;
  const char* user = std::getenv((prefix + "_USER").c_str());
  const char* password = std::getenv((prefix + "_PASSWORD").c_str());
  if (url.user.empty() && user != nullptr) url.user = user;
  if (password != nullptr) url.password = password;
  if (url.user.empty() && !url.password.empty()) url.user = default_user;
}

}  // namespace fathom::metrics
