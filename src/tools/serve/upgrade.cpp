#include "tools/serve/upgrade.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "model/store/reader.h"

namespace fathom::serve {
namespace {

constexpr std::uint64_t kMostNs = 3'600'000'000'000;

std::set<std::string> builds_of(const model::Profile& profile) {
  std::set<std::string> builds;
  for (const model::Process& process : profile.processes) {
    if (process.executable.value == 0) continue;
    for (const model::Module& module : profile.modules)
      if (module.path == process.executable && module.build_id.value != 0)
        builds.insert(std::string(profile.strings[module.build_id]));
  }
  return builds;
}

}  // namespace

std::string build_id_of(const model::Profile& profile) {
  const std::set<std::string> builds = builds_of(profile);
  return builds.size() == 1 ? *builds.begin() : std::string();
}

bool has_two_builds(const model::Profile& profile) {
  return builds_of(profile).size() > 1;
}

// From the newest back: a store of days need not be read whole.
Result<std::vector<StoredWindow>> windows_beside_upgrade(const std::vector<StoredWindow>& windows,
                                                         bool after) {
  std::string newest, before;
  std::vector<StoredWindow> of_newest, of_before;
  for (std::size_t i = windows.size(); i-- > 0;) {
    store::ReadOptions facts;
    facts.facts_only = true;
    const auto profile = store::read(windows[i].path, facts);
    if (!profile || has_two_builds(*profile)) continue;
    const std::string build = build_id_of(*profile);
    if (build.empty()) continue;
    if (newest.empty()) newest = build;
    if (build == newest && before.empty()) {
      of_newest.push_back(windows[i]);
      continue;
    }
    if (before.empty()) before = build;
    if (build != before || (!of_before.empty() &&
                            of_before.front().name.end_unix_ns() > windows[i].name.start_unix_ns + kMostNs))
      break;
    of_before.push_back(windows[i]);
  }
  if (of_before.empty())
    return fail(ErrorKind::kNotFound, "all windows are of one build of the program",
                "--from and --until choose two times");
  std::ranges::reverse(of_newest);
  std::ranges::reverse(of_before);
  if (!after) return of_before;
  const std::uint64_t until = of_newest.front().name.start_unix_ns + kMostNs;
  std::erase_if(of_newest, [&](const StoredWindow& window) { return window.name.start_unix_ns >= until; });
  return of_newest;
}

}  // namespace fathom::serve
