// Which mappings of a process belong to a tracer: recognized by their kind and place, and not by the list in
// the shared memory, which the target can write to. Works without the list, so also if it is damaged.
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
  std::vector<tracer_own_mapping> all;  // to unmap; the shared memory last, because it describes the others

  bool in_image(std::uint64_t address) const;
  bool in_islands(std::uint64_t address) const;
};

// `shared`: one of find_shared(). `claimed`: the mappings that a well-formed head names. Each mapping in the
// result is in `maps` exactly like that: without a file and private, except for the shared memory.
//   image     executable, begins with a tracer's magic number, or ends where the state begins
//   state     writable, ends right below the shared memory
//   islands   executable, contain a jump into the image; or are claimed and contain zeros, because they are
//             not filled yet
OwnPlaces find_own_places(const RemoteMemory& memory, std::span<const process::MapEntry> maps,
                          const process::MapEntry& shared, std::span<const tracer_own_mapping> claimed);

}  // namespace fathom::inject
