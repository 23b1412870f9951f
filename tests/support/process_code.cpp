#include "support/process_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/files.h"
#include "linux/process/maps.h"

namespace fathom::support {

std::string code_of(pid_t pid) {
  const auto maps = process::read_maps(pid);
  std::ifstream memory("/proc/" + std::to_string(pid) + "/mem", std::ios::binary);
  std::string code;
  if (!maps) return code;
  for (const process::MapEntry& entry : *maps) {
    // A library that comes and goes is no part of the comparison.
    if (!entry.executable || !entry.is_file() || entry.path.find("plugin") != std::string::npos) continue;
    std::string bytes(entry.size(), '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(entry.start.value));
    memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    code += entry.path + std::to_string(entry.start.value) + bytes;
  }
  return code;
}

int mappings_of(pid_t pid) {
  const auto maps = process::read_maps(pid);
  return maps ? static_cast<int>(maps->size()) : 0;
}

int tracer_mappings_of(pid_t pid) {
  const auto maps = process::read_maps(pid);
  if (!maps) return 0;
  return static_cast<int>(std::count_if(maps->begin(), maps->end(), [](const process::MapEntry& entry) {
    // By its own name: a checkout lies in a folder of ours, too. The image and its islands have none.
    return entry.path.starts_with("/memfd:fathom-heap") || (entry.path.empty() && entry.executable);
  }));
}

std::optional<pid_t> guardian_of(pid_t recorder) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", recorder));
  for (pid_t child; children >> child;) {
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", child)) >> std::ws, name);
    if (name == "fathom-guardian") return child;
  }
  return std::nullopt;
}

}  // namespace fathom::support
