#include "tools/serve/meter.h"

#include <algorithm>
#include <utility>

namespace fathom::serve {

void Meter::look(std::map<std::string, std::vector<std::int32_t>> targets) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(busy_, true)) return;  // a look that takes long is not caught up with
  }
  worker_.post([this, targets = std::move(targets)] {
    look_now(targets);
    const std::lock_guard lock(mutex_);
    busy_ = false;
  });
}

void Meter::take_look(Process& process) {
  auto look = process.watched.look(false);
  if (!look || process.history.is_of_an_ending_process(*look)) {
    process.view.reset();
    return;
  }
  process.view = process.history.add(std::move(*look), 0, 0, process.watched.missing());
}

void Meter::look_now(const std::map<std::string, std::vector<std::int32_t>>& targets) {
  std::map<std::int32_t, std::string> wanted;
  for (const auto& [name, pids] : targets)
    for (const std::int32_t pid : pids) wanted.emplace(pid, name);
  for (auto known = processes_.begin(); known != processes_.end();) {
    const auto still = wanted.find(known->first);
    if (still != wanted.end() && still->second == known->second.place.name) {
      ++known;
      continue;
    }
    places_.leave(known->second.place);
    known = processes_.erase(known);
  }
  for (const auto& [pid, name] : wanted) {
    if (processes_.contains(pid)) continue;
    auto watched = watch::Watched::open(pid);
    if (!watched) continue;  // it has ended, or belongs to another user
    watch::History history(pid, name);
    processes_.emplace(pid, Process{std::move(*watched), std::move(history), places_.take(name)});
  }
  std::map<std::string, std::vector<watch::ServedView>> views;
  for (auto& [pid, process] : processes_) {
    take_look(process);
    if (process.view) views[process.place.name].push_back({process.place, &*process.view});
  }
  std::map<std::string, std::vector<metrics::Family>> families;
  for (const auto& [name, served] : views) {
    families[name] = watch::make_families(served, watch::Places(), {});
    // What the watch says of itself is not of the target.
    std::erase_if(families[name],
                  [](const metrics::Family& family) { return family.name.starts_with("fathom_own_"); });
  }
  const std::lock_guard lock(mutex_);
  families_ = std::move(families);
}

std::vector<metrics::Family> Meter::families(const std::string& target) const {
  const std::lock_guard lock(mutex_);
  std::vector<metrics::Family> all;
  for (const auto& [name, families] : families_) {
    if (!target.empty() && name != target) continue;
    for (const metrics::Family& family : families) {
      const auto same = std::ranges::find(all, family.name, &metrics::Family::name);
      if (same == all.end())
        all.push_back(family);
      else
        same->samples.insert(same->samples.end(), family.samples.begin(), family.samples.end());
    }
  }
  return all;
}

}  // namespace fathom::serve
