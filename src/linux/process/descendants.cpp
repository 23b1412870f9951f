#include "linux/process/descendants.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "linux/process/directory.h"
#include "linux/process/status.h"

namespace fathom::process {

std::vector<int> descendants_in(const std::vector<std::pair<int, int>>& parents, int pid) {
  std::multimap<int, int> children;
  for (const auto& [child, parent] : parents) children.emplace(parent, child);
  // Seen once each: numbers are read one after the other, and may make a circle.
  std::set<int> seen{pid};
  std::vector<int> found{pid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child)
      if (seen.insert(child->second).second) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

static std::vector<std::pair<int, int>> read_parents() {
  std::vector<std::pair<int, int>> parents;
  const auto all = numbers_in("/proc");
  if (!all) return parents;
  for (const int process : *all) {
    const auto stat = read_stat(process);
    if (stat && stat->state != 'Z') parents.emplace_back(process, stat->parent_pid);
  }
  return parents;
}

std::vector<int> descendants(int pid) {
  return descendants_in(read_parents(), pid);
}

std::optional<int> starter_in(const std::vector<std::pair<int, int>>& parents, const std::vector<int>& pids) {
  for (const int pid : pids) {
    std::vector<int> family = descendants_in(parents, pid);
    family.push_back(pid);
    std::ranges::sort(family);
    if (std::ranges::all_of(pids, [&](int other) { return std::ranges::binary_search(family, other); }))
      return pid;
  }
  return std::nullopt;
}

std::optional<int> starter_of(const std::vector<int>& pids) {
  return starter_in(read_parents(), pids);
}

std::vector<int> living_children_in(const std::vector<std::pair<int, int>>& parents,
                                    const std::vector<int>& pids, int caller) {
  const std::vector<int> below_caller = descendants_in(parents, caller);
  const std::set<int> own(below_caller.begin(), below_caller.end());
  std::set<int> known(pids.begin(), pids.end());
  known.insert(caller);
  std::vector<int> children;
  for (const int pid : pids)
    for (const int child : descendants_in(parents, pid))
      if ((own.contains(pid) || !own.contains(child)) && known.insert(child).second)
        children.push_back(child);
  return children;
}

std::vector<int> living_children(const std::vector<int>& pids) {
  return living_children_in(read_parents(), pids, ::getpid());
}

}  // namespace fathom::process
