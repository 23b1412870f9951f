#include "process/environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"

namespace fathom::process {

bool has_setting(std::string_view environ, std::string_view setting) {
  while (!environ.empty()) {
    const std::string_view entry = environ.substr(0, environ.find('\0'));
    if (entry == setting) return true;
    environ.remove_prefix(std::min(environ.size(), entry.size() + 1));
  }
  return false;
}

bool was_started_with(int pid, std::string_view setting) {
  const auto environ = read_file(fmt::format("/proc/{}/environ", pid));
  return environ && has_setting(*environ, setting);
}

}  // namespace fathom::process
