#include "analysis/stacks/groups.h"

#include <map>
#include <tuple>

#include "base/stable_sort.h"

namespace fathom::stacks {

std::vector<Group> group_threads(const Look& look) {
  using Key = std::tuple<std::int32_t, std::uint32_t, State, bool>;
  std::map<Key, std::size_t> rows;
  std::vector<Group> groups;
  for (std::size_t i = 0; i < look.threads.size(); ++i) {
    const ThreadLook& thread = look.threads[i];
    const bool idle = !thread.idle.empty();
    const auto [row, is_new] =
        rows.try_emplace(Key(thread.pid, thread.stack.value, thread.state, idle), groups.size());
    if (is_new) groups.push_back({{}, idle});
    groups[row->second].threads.push_back(i);
  }
  for (Group& group : groups)
    stable_sort_rows(group.threads, std::greater(),
                     [&](std::size_t row) { return look.threads[row].waited_ns.value_or(0); });
  stable_sort_rows(groups, [](const Group& a, const Group& b) {
    return a.idle != b.idle ? b.idle : a.threads.size() > b.threads.size();
  });
  return groups;
}

}  // namespace fathom::stacks
