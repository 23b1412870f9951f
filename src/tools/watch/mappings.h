// Every mapping of a process with what allocators hold in it, for watch --maps. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/allocators/state/state.h"
#include "linux/memory/memory_map.h"
#include "linux/memory/resident_pages.h"

namespace fathom::watch {

// Bytes.
struct WatchedMapping {
  sources::JudgedMapping judged;
  std::string allocator;  // whose records have most of its resident pages: "jemalloc"; empty: none has
  std::uint64_t allocator_bytes = 0;  // resident pages in the records of allocators
  // Of smaps; nullopt: not read. PSS divides each shared page by the number of its processes; a dirty page differs from its file,
  // or has none.
  struct Sharing {
    std::uint64_t proportional = 0, dirty = 0;
  };
  std::optional<Sharing> sharing;
  std::optional<std::int64_t> change;  // of what is resident, since an earlier reading
};

// `pages`: the resident ones.
void name_allocators(const allocators::AllocatorStates& states, const sources::ResidentPages& pages,
                     std::vector<WatchedMapping>& mappings);

// Takes PSS and dirty pages from `smaps`, another reading of the same process, where it has a mapping that begins at the same place.
void add_sharing(std::span<const sources::MemoryMapping> smaps, std::vector<WatchedMapping>& mappings);

// What is not the same in `after` as in `before`, with the change. A mapping may grow at either end; one that is gone has nothing
// resident any more.
std::vector<WatchedMapping> changed_mappings(std::span<const WatchedMapping> before,
                                             std::vector<WatchedMapping> after);

enum class MappingOrder : std::uint8_t {
  kResident,
  kPss,
  kOwn,
  kDirty,
  kSwapped,
  kVirtual,
  kAddress,
  kChange
};
// "resident", "pss" and so on.
std::optional<MappingOrder> mapping_order_from(std::string_view name);
std::vector<std::string> names_of_mapping_orders();
// Largest first, ascending by address; the largest changes first, whichever way. Equal ones by resident size, then by size.
void sort_mappings(std::vector<WatchedMapping>& mappings, MappingOrder order);

}  // namespace fathom::watch
