#include "linux/process/live_code.h"

#include <iterator>

namespace fathom::process {

void LiveCode::add(PerfMapEntry entry) {
  const std::uint64_t start = entry.start.value;
  const std::uint64_t end = start + entry.size;
  auto next = by_start_.lower_bound(start);
  if (next != by_start_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.size > start) next = by_start_.erase(before);
  }
  while (next != by_start_.end() && next->first < end) next = by_start_.erase(next);
  by_start_.emplace_hint(next, start, std::move(entry));
}

void LiveCode::move(std::uint64_t from, std::uint64_t to) {
  const auto found = by_start_.find(from);
  if (found == by_start_.end()) return;
  PerfMapEntry entry = std::move(found->second);
  by_start_.erase(found);
  if (to + entry.size < to) return;
  entry.start.value = to;
  add(std::move(entry));
}

std::vector<PerfMapEntry> LiveCode::take() {
  std::vector<PerfMapEntry> entries;
  entries.reserve(by_start_.size());
  for (auto& [start, entry] : by_start_) entries.push_back(std::move(entry));
  by_start_.clear();
  return entries;
}

}  // namespace fathom::process
