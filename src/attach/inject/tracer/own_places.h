// Which mappings of a process are a tracer's: told by what and where they are, and not by the list in the
// shared memory, which the target can write to. Needs no list, so it also serves where that is damaged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/inject/plan/placement.h"
#include "attach/inject/stop/remote_memory.h"
#include "base/abi/heap_tracer.h"
#include "linux/process/maps.h"

namespace fathom::inject {

struct OwnPlaces {
  std::optional<AddressRange> image;
  std::vector<AddressRange> islands;    // trampolines and stubs
  std::vector<tracer_own_mapping> all;  // what to unmap; the shared memory last, as it tells of the others

  bool in_image(std::uint64_t address) const;
  bool in_islands(std::uint64_t address) const;
};

// `shared`: one of find_shared(). `claimed`: what a head that is well formed names. Each mapping in the
// result is in `maps` as it stands there: without a file and private, but for the shared memory.
//   image     executable, begins with the mark of a tracer, or ends where the state begins
//   state     writable, ends right below the shared memory
//   islands   executable, hold a jump into the image; or are claimed and hold zeros, as before they are
//   filled
OwnPlaces find_own_places(const RemoteMemory& memory, std::span<const process::MapEntry> maps,
                          const process::MapEntry& shared, std::span<const tracer_own_mapping> claimed);

}  // namespace fathom::inject
