#include "analysis/heap/untraced_processes.h"

#include <algorithm>
#include <set>

#include "base/stable_sort.h"

namespace fathom::analysis {

using namespace model;

UntracedProcesses untraced_processes(const Profile& profile, const Selection& selection) {
  UntracedProcesses found;
  if (selection.pid) return found;
  std::vector<std::uint64_t> cpu_ns(profile.processes.size());
  for (const Thread& thread : profile.threads) cpu_ns[thread.process.value] += thread.cpu_ns;
  std::set<std::int32_t> family, pids;
  for (const Heap& heap : profile.heap.heaps) family.insert(profile.processes[heap.process.value].pid);
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < profile.processes.size(); ++i) {
    const Process& process = profile.processes[i];
    if (family.contains(process.pid) && !pids.contains(process.pid)) continue;  // it is traced
    if (!family.contains(process.parent_pid)) continue;
    family.insert(process.pid);
    pids.insert(process.pid);
    rows.push_back(i);
  }
  stable_sort_rows(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return cpu_ns[a] > cpu_ns[b]; });
  found.count = pids.size();
  for (const std::size_t row : rows)
    if (std::string name(profile.strings[profile.processes[row].name]);
        std::ranges::find(found.names, name) == found.names.end())
      found.names.push_back(std::move(name));
  return found;
}

}  // namespace fathom::analysis
