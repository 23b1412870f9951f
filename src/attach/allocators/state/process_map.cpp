#include "attach/allocators/state/process_map.h"

#include <algorithm>

namespace fathom::allocators {
namespace {

// No library has more zeroed data than this: beyond it comes another mapping, because the kernel places them
// next to each other.
constexpr std::uint64_t kMostZeroed = std::uint64_t{64} << 20;

bool is_anonymous(const process::MapEntry& entry) {
  return !entry.shared && entry.inode == 0 &&
         (entry.path.empty() || entry.path == "[heap]" || entry.path.starts_with("[anon"));
}

}  // namespace

ProcessMap make_process_map(const std::vector<process::MapEntry>& entries) {
  ProcessMap map;
  std::vector<AddressRange> anonymous;
  const process::MapEntry* last = nullptr;
  for (const process::MapEntry& entry : entries) {
    const AddressRange range{entry.start.value, std::min(entry.end.value, kAddressLimit)};
    if (range.end <= range.start) continue;
    const bool adjacent = last != nullptr && last->end == entry.start;
    if (is_anonymous(entry)) {
      anonymous.push_back(range);
      if (entry.writable) map.writable.push_back(range);
      if (entry.path == "[heap]") {
        if (map.program_break.end == 0) map.program_break = range;
        map.program_break.end = range.end;
      }
      if (entry.writable && adjacent && is_anonymous(*last) && !last->readable && !last->writable)
        map.guarded.push_back(range);
      if (entry.writable && !map.data.empty() && map.data.back().range.end == range.start)
        map.data.back().range.end = std::min(range.end, range.start + kMostZeroed);
    } else if (entry.is_file() && entry.writable && !entry.shared) {
      if (!map.data.empty() && map.data.back().range.end == range.start && map.data.back().path == entry.path)
        map.data.back().range.end = range.end;
      else
        map.data.push_back({entry.path, range});
    }
    last = &entry;
  }
  map.anonymous = AddressRanges(std::move(anonymous));
  return map;
}

}  // namespace fathom::allocators
