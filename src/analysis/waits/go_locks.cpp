#include "analysis/waits/go_locks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/waits/wait_site.h"

namespace fathom::analysis {
namespace {

constexpr std::uint64_t kLeastSamplesAtLocks = 5;
constexpr double kLeastShareAtLocks = 0.02;

bool is_slow_way_of_a_lock(std::string_view name) {
  for (const std::string_view of :
       {"sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).lockSlow", "sync.runtime_SemacquireMutex",
        "internal/sync.runtime_SemacquireMutex", "sync.runtime_SemacquireRWMutex",
        "sync.runtime_SemacquireRWMutexR", "sync.(*Mutex).unlockSlow", "internal/sync.(*Mutex).unlockSlow"})
    if (name == of) return true;
  return false;
}

struct GoNames {
  bool any = false;
  std::vector<char> at_lock;  // by row of Profile::functions
};

GoNames names_of_go(const model::Profile& profile) {
  GoNames names;
  names.at_lock.resize(profile.functions.size());
  for (std::size_t i = 0; i < profile.functions.size(); ++i) {
    const std::string_view name = profile.strings[profile.functions[i].name];
    names.any = names.any || name == "runtime.mstart1" || name == "runtime.goexit" ||
                name.starts_with("runtime.goexit.") || name == "runtime.schedule" || name == "runtime.mcall";
    names.at_lock[i] = is_slow_way_of_a_lock(name) ? 1 : 0;
  }
  return names;
}

}  // namespace

std::optional<GoLocks> find_go_locks(const model::Profile& profile, const Selection& selection) {
  const GoNames names = names_of_go(profile);
  if (!names.any) return std::nullopt;
  GoLocks locks;
  WaitSites sites(profile, selection.stacks.get());
  std::map<std::string, std::uint64_t> by_site;
  const Filter filter(profile, selection);
  // Parents stand before their children, so each stack is decided once.
  std::vector<char> at_lock(profile.stacks.size());
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {
    const model::Frame& frame = profile.frames[profile.stacks[i].frame.value];
    at_lock[i] = at_lock[profile.stacks[i].parent.value];
    for (std::uint32_t line = 0; line < frame.line_count; ++line)
      at_lock[i] |= names.at_lock[profile.lines[frame.first_line + line].function.value];
  }
  for (const model::Sample& sample : profile.all_samples()) {
    if (sample.metric != model::Metric::kCpu || !filter.takes_thread(sample.thread)) continue;
    ++locks.samples;
    if (at_lock[sample.stack.value] == 0) continue;
    ++locks.at_locks;
    ++by_site[sites.of(sample.stack)];
  }
  const auto most = std::max_element(by_site.begin(), by_site.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != by_site.end() && locks.at_locks >= kLeastSamplesAtLocks &&
      static_cast<double>(locks.at_locks) >= kLeastShareAtLocks * static_cast<double>(locks.samples))
    locks.site = most->first;
  return locks;
}

}  // namespace fathom::analysis
