#include "tools/limit/dead_groups.h"
#include "base/parse.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <vector>

namespace fathom::limit {
namespace {

// The fathom that made the group; nullopt: the name is not one of ours.
std::optional<int> maker_of(std::string_view name) {
  if (!name.starts_with(kGroupPrefix)) return std::nullopt;
  name.remove_prefix(kGroupPrefix.size());
  const auto pid = parse_number<int>(take_until(name, '-'));
  return pid && *pid > 0 && parse_number<int>(name) ? pid : std::nullopt;
}

}  // namespace

std::string group_name(int pid, int number) {
  return fmt::format("{}{}-{}", kGroupPrefix, pid, number);
}

int remove_dead_groups(const std::string& parent) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> dead;
  for (auto entry = fs::directory_iterator(parent, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const auto maker = maker_of(entry->path().filename().string());
    if (maker && ::kill(*maker, 0) != 0 && errno == ESRCH) dead.push_back(entry->path());
  }
  int removed = 0;
  // The kernel refuses while a process is in it.
  for (const fs::path& folder : dead) removed += ::rmdir(folder.c_str()) == 0 ? 1 : 0;
  return removed;
}

}  // namespace fathom::limit
