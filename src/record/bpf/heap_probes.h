// The probes at which processes report their own heap events, as what uses an engine sees them. An engine that cannot listen to them
// has none of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/abi/heap_probe_events.h"
#include "base/abi/probe_accounts.h"
#include "base/result.h"

namespace fathom::sources {

// A place at which a process reports its heap events.
struct HeapProbePoint {
  std::string path;          // of the file, as this process opens it
  std::uint64_t offset = 0;  // in the file
  std::optional<std::uint64_t> semaphore;
  bool frees = false;
  probe_value values[HEAP_PROBE_VALUES] = {};  // of a free: the first one
};

class HeapProbes {
 public:
  virtual ~HeapProbes() = default;
  // Sets breakpoints at these places for this process alone, or none of them. Their hits are HeapProbed events. Again, for
  // libraries that it has loaded since.
  virtual Result<> add(std::int32_t pid, const std::vector<HeapProbePoint>& points) = 0;
  virtual void remove(std::int32_t pid) = 0;
  virtual heap_probe_counters sums(std::int32_t pid) const = 0;
};

}  // namespace fathom::sources
