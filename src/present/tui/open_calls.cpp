#include "present/tui/open_calls.h"

#include <algorithm>

namespace fathom::tui {

void OpenCalls::remember(const CallList& calls, std::size_t cursor, const NameOf& name_of) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> todo{{0, 0}};  // a node of the list, and its row here
  while (!todo.empty()) {
    const auto [above, row] = todo.back();
    todo.pop_back();
    for (std::uint32_t id = calls.node(above).first_child; id != 0; id = calls.node(id).next_sibling) {
      Name name = name_of(calls.node(id));
      const auto known = calls_[row].below.find(name);
      if (!calls.is_open(id)) {
        if (known != calls_[row].below.end()) calls_[known->second].open = false;
        continue;
      }
      std::uint32_t at = 0;
      if (known != calls_[row].below.end()) {
        at = known->second;
      } else {
        at = static_cast<std::uint32_t>(calls_.size());
        calls_[row].below.emplace(std::move(name), at);
        calls_.emplace_back();
      }
      calls_[at].open = true;
      todo.emplace_back(id, at);
    }
  }
  cursor_.clear();
  if (cursor >= calls.rows().size()) return;
  for (std::uint32_t id = calls.rows()[cursor].node; id != 0; id = calls.node(id).parent)
    cursor_.push_back(name_of(calls.node(id)));
  std::reverse(cursor_.begin(), cursor_.end());
}

std::size_t OpenCalls::restore(CallList& calls, const NameOf& name_of) const {
  std::vector<std::uint32_t> open;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> todo{{0, 0}};
  while (!todo.empty()) {
    const auto [above, row] = todo.back();
    todo.pop_back();
    for (std::uint32_t id = calls.node(above).first_child; id != 0; id = calls.node(id).next_sibling) {
      const auto known = calls_[row].below.find(name_of(calls.node(id)));
      if (known == calls_[row].below.end() || !calls_[known->second].open) continue;
      open.push_back(id);
      todo.emplace_back(id, known->second);
    }
  }
  calls.open_these(open);
  // Rows stand in the order of a walk: the path goes on below the last row that fitted.
  std::size_t found = 0, depth = 0;
  for (std::size_t row = 0; row < calls.rows().size() && depth < cursor_.size(); ++row) {
    const CallList::Row& at = calls.rows()[row];
    if (at.depth < depth) break;
    if (at.depth == depth && name_of(calls.node(at.node)) == cursor_[depth]) {
      found = row;
      ++depth;
    }
  }
  return found;
}

}  // namespace fathom::tui
