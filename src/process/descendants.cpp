#include "process/descendants.h"

#include <map>
#include <set>

#include "process/directory.h"
#include "process/status.h"

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

std::vector<int> descendants(int pid) {
  const auto all = numbers_in("/proc");
  if (!all) return {};
  std::vector<std::pair<int, int>> parents;
  for (const int process : *all)
    if (const auto stat = read_stat(process)) parents.emplace_back(process, stat->parent_pid);
  return descendants_in(parents, pid);
}

}  // namespace fathom::process
