// The heaps of several windows as one. Each window begins with what was live at its start. Read together, only the first opening stays:
// the others follow from the slices before them, unless time is missing in between. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <set>

#include "model/profile.h"

namespace fathom::serve {

// Before windows are merged into one profile: marks the openings of heaps that an earlier window has, and the heaps that the last one
// does not have.
class HeapJoin {
 public:
  // In order of time.
  void add(model::Profile& window, bool is_last);

 private:
  struct Key {
    std::int32_t pid;
    std::uint64_t start_ns;
    model::HeapMode mode;
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const model::Profile& profile, const model::Heap& heap);

  std::set<Key> known_;
};

// After merging. What differs between an opening and the slices before it happened in the missing time, and becomes a slice of it.
// A heap that the last window does not have is gone, with its process or because it is traced anew: what was live of it counts
// as freed, as its place may be taken by the next heap. A note reports that.
void finish_heaps(model::Profile& merged);

}  // namespace fathom::serve
